"""A real nginx and a real Caddy with the configurations of docs/reverse-proxies.md, before a real server."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import bcrypt
import pytest

from autoscaler.config.settings import WebSettings
from tests.servers.certificates import Authority
from tests.servers.ports import free_port
from tests.servers.required import require
from tests.web.serving import Daemon, Served, serving

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).resolve().parents[2] / "docs/reverse-proxies.md").read_text()
NAME = "autoscaler.example.com"
PAUSES = ("/api/v1/autoscalers/web/pause", "/api/v1/pause", "/-/reload", "/-/resign")
READS = ("/", "/metrics", "/api/v1/autoscalers", "/api/v1/autoscalers/web")
PASSWORDS = {"ann": "correct horse", "prometheus": "battery staple"}
HASHES = {name: bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode() for name, word in PASSWORDS.items()}
OWN_PAGE: Mapping[str, str] = {"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
"""What a browser sends with a change from the daemon's page."""


def blocks(language: str) -> list[str]:
    """The page's code blocks in this language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Proxy:
    """A running proxy. Clients connect to its name over TLS."""

    port: int
    authority: Path
    served: Served

    def status(self, path: str, *options: str, user: str = "", headers: Mapping[str, str] | None = None) -> int:
        """The status of the answer to curl."""
        words = ["curl", "--http1.1", "--silent", "--show-error", "--output", os.devnull, "--write-out", "%{http_code}"]
        words += ["--cacert", str(self.authority), "--resolve", f"{NAME}:{self.port}:127.0.0.1", *options]
        words += ["--user", f"{user}:{PASSWORDS[user]}"] if user else []
        for name, value in (headers or {}).items():
            words += ["--header", f"{name}: {value}"]
        done = subprocess.run(
            [*words, f"https://{NAME}:{self.port}{path}"], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def change(self, path: str, user: str = "", headers: Mapping[str, str] | None = None) -> int:
        """The status of the answer to a valid change."""
        body = '{"all": true}' if path == "/api/v1/pause" else "{}"
        given = {"Content-Type": "application/json", **(headers or {})}
        return self.status(path, "--data", body, user=user, headers=given)

    @property
    def nothing_has_changed(self) -> bool:
        daemon = self.served.daemon
        return daemon.reloads == 0 and not any(each.pause for each in daemon.state.archive.steering().values())


@contextmanager
def nginx(folder: Path, site: str, served: Served) -> Iterator[Proxy]:
    """Debian's nginx with a site of the page. Ports and files are the test's."""
    port, pair = free_port(), Authority(folder).sign("proxy", NAME)
    users = folder / "autoscaler.users"
    users.write_text("".join(f"{name}:{word}\n" for name, word in HASHES.items()))
    site = replaced(site, "listen 443", f"listen 127.0.0.1:{port}")
    site = replaced(site, "/etc/ssl/autoscaler.pem", str(pair.cert))
    site = replaced(site, "/etc/ssl/autoscaler.key", str(pair.key))
    site = replaced(site, "http://127.0.0.1:9797", served.server.url)
    if "auth_basic" in site:
        site = replaced(site, "/etc/nginx/autoscaler.users;", f"{users};")
    (folder / "site.conf").write_text(site)
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("fastcgi", "proxy", "scgi", "uwsgi"))
    (folder / "nginx.conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''}\n"  # another user could not read the test's folder
        f"pid {folder}/pid;\ndaemon off;\nevents {{}}\nhttp {{\naccess_log off;\n"
        f"client_body_temp_path {folder}/body;\n{temporary}include {folder}/site.conf;\n}}\n"
    )
    command = (program("nginx"), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf"))
    with started(command, folder, port):
        yield Proxy(port, folder / "ca.pem", served)


@contextmanager
def caddy(folder: Path, site: str, served: Served) -> Iterator[Proxy]:
    """Debian's Caddy with a site of the page. The port and the certificate are the test's."""
    port, pair = free_port(), Authority(folder).sign("proxy", NAME)
    site = replaced(site, f"{NAME} {{\n", f"https://{NAME}:{port} {{\n    tls {pair.cert} {pair.key}\n")
    site = replaced(site, "127.0.0.1:9797", urlsplit(served.server.url).netloc)
    if "basicauth" in site:
        hashing = (program("caddy"), "hash-password", "--plaintext", PASSWORDS["ann"])
        site = replaced(site, "HASH", subprocess.check_output(hashing, text=True).strip())
    (folder / "Caddyfile").write_text(f"{{\n    admin off\n    auto_https disable_redirects\n}}\n{site}")
    command = (program("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile")
    with started(command, folder, port):
        yield Proxy(port, folder / "ca.pem", served)


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    return found or require(f"{name} is not installed; install Debian's package of that name")


def replaced(text: str, written: str, instead: str) -> str:
    assert written in text, f"docs/reverse-proxies.md does not have {written!r}"
    return text.replace(written, instead)


@contextmanager
def started(command: tuple[str, ...], folder: Path, port: int) -> Iterator[None]:
    """Run the proxy until the block ends. Its home is the test's folder."""
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, "HOME": str(folder)}, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (folder / "proxy.log").read_text()
            assert time.monotonic() < end, "the proxy did not listen"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def behind_nginx(daemon: Daemon, folder: Path, *, nginx_users: bool = False, users: bool = False) -> Iterator[Proxy]:
    """`nginx_users`: nginx has users, as in the page's addition. `users`: the daemon has users; ann is an operator."""
    config = None
    if users:
        daemon.web = WebSettings(operators=("ann",))
        config = folder / "web.yaml"
        config.write_text("basic_auth_users:\n" + "".join(f"  {name}: {word}\n" for name, word in HASHES.items()))
    site, addition = blocks("nginx")
    if nginx_users:
        site = replaced(site, "\n    location", f"\n{addition}\n    location")
    with serving(daemon, config) as served, nginx(folder, site, served) as proxy:
        yield proxy


def test_clients_of_a_plain_nginx_read_and_change_nothing(daemon: Daemon, tmp_path: Path) -> None:
    """Its requests look like those of a user of the daemon's own machine: nginx runs there and adds no header."""
    with behind_nginx(daemon, tmp_path) as proxy:
        assert [proxy.status(path) for path in READS] == [200] * len(READS)
        assert {proxy.change(path) for path in PAUSES} == {403}
        assert proxy.nothing_has_changed


def test_users_of_nginx_read_and_change_nothing(daemon: Daemon, tmp_path: Path) -> None:
    """The daemon does not know them, so they cannot be operators."""
    with behind_nginx(daemon, tmp_path, nginx_users=True) as proxy:
        assert [proxy.status(path) for path in READS] == [401] * len(READS)
        assert [proxy.status(path, user="ann") for path in READS] == [200] * len(READS)
        assert {proxy.change(path) for path in PAUSES} == {401}
        assert {proxy.change(path, user="ann") for path in PAUSES} == {403}
        assert proxy.nothing_has_changed


def test_behind_nginx_the_daemon_s_users_read_and_its_operators_change(daemon: Daemon, tmp_path: Path) -> None:
    """Nginx without users passes names and passwords on, and the daemon checks them."""
    with behind_nginx(daemon, tmp_path, users=True) as proxy:
        assert [proxy.status(path) for path in READS] == [401] * len(READS)
        assert {proxy.change(path) for path in PAUSES} == {401}
        assert [proxy.status(path, user="prometheus") for path in READS] == [200] * len(READS)
        assert {proxy.change(path, user="prometheus") for path in PAUSES} == {403}
        assert proxy.nothing_has_changed
        assert {proxy.change(path, user="ann", headers=OWN_PAGE) for path in PAUSES} == {200}
        assert daemon.state.archive.steering()["jobs"].pause is not None


@pytest.mark.parametrize(("allowed", "status"), [((), 403), ((NAME,), 200)])
def test_a_host_that_a_proxy_passes_on_must_be_in_allowed_hosts(
    allowed: tuple[str, ...], status: int, daemon: Daemon, tmp_path: Path
) -> None:
    """The page says so about nginx' `proxy_set_header Host $host` and about Caddy."""
    header = "proxy_set_header Host $host"
    assert f"`{header}`" in PAGE
    site = replaced(blocks("nginx")[0], "        proxy_pass", f"        {header};\n        proxy_pass")
    daemon.web = WebSettings(allowed_hosts=tuple(allowed))
    for name in ("nginx", "caddy"):
        (tmp_path / name).mkdir()
    with serving(daemon) as served:
        with nginx(tmp_path / "nginx", site, served) as proxy:
            assert proxy.status("/") == status
        with caddy(tmp_path / "caddy", blocks("caddyfile")[0], served) as proxy:
            assert proxy.status("/") == status


@pytest.mark.parametrize(("which", "anonymous"), [(0, 403), (1, 401)])
def test_clients_of_caddy_change_nothing(which: int, anonymous: int, daemon: Daemon, tmp_path: Path) -> None:
    """All clients read, or only Caddy's users if it has any."""
    daemon.web = WebSettings(allowed_hosts=(NAME,))
    with serving(daemon) as served, caddy(tmp_path, blocks("caddyfile")[which], served) as proxy:
        user = "ann" if which else ""
        assert [proxy.status(path, user=user) for path in READS] == [200] * len(READS)
        assert {proxy.change(path) for path in PAUSES} == {anonymous}
        assert {proxy.change(path, user=user) for path in PAUSES} == {403}
        assert proxy.nothing_has_changed
