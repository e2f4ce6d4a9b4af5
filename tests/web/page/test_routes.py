"""The page as the server renders it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import unescape
from pathlib import Path

import pytest

from autoscaler.config.grants import Grant
from autoscaler.errors import Problem, StateError
from autoscaler.model import (
    Autoscaler,
    Direction,
    Failure,
    ManualControls,
    MetricType,
    Pause,
    Rules,
    TargetRef,
    TargetType,
)
from autoscaler.record import schema
from autoscaler.record.kept import save
from autoscaler.record.max_size import _CUT, _Cut
from autoscaler.record.sizes import DETAIL, HISTORY
from autoscaler.record.state import State
from autoscaler.record.times import to_micros
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.schedules import Schedules
from autoscaler.view.discovered import DiscoveredList
from autoscaler.web import page
from autoscaler.web.page import routes
from autoscaler.windows import ScheduleEntry
from tests.decide.build import CPU_60, QUEUE_15, metric, samples, scaler
from tests.decide.build import state as of_size
from tests.metrics.exposed import DISCOVERED
from tests.replaced import replace
from tests.steering import steer
from tests.view.lives import Recorded, open_state
from tests.web.serving import Daemon, Served, serving
from tests.web.unix import THIS_USER

EVIL = "<script>alert(1)</script>"


@contextmanager
def serving_pages(state: State, life: Recorded) -> Iterator[Served]:
    """A server on a state with one autoscaler."""
    daemon = Daemon(state, [life.autoscaler])
    daemon.clock.wall = life.now
    with serving(daemon) as served:
        yield served


def hostile() -> Autoscaler:
    """An autoscaler whose target's name contains markup."""
    labels = (("example.org/zone", "a"), ("team", "shop"), ("x", "1"), ("y", "2"), ("z", "3"))
    return replace(scaler(CPU_60), target=TargetRef("fleet", EVIL), labels=labels)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), hostile())
        life.cpu(60)
        with serving_pages(state, life) as site:
            yield site


@pytest.mark.parametrize("path", ["/", "/autoscalers/web", f"/?q={EVIL}", f"/autoscalers/{EVIL[:8]}"])
def test_names_are_shown_as_text_and_never_as_markup(site: Served, path: str) -> None:
    """Names come from back ends and addresses, and operators who are logged in open the page."""
    assert "<script>alert" not in site.get(path).text


def test_the_page_has_no_inline_styles_so_that_its_policy_can_forbid_them(site: Served) -> None:
    """The browser does not run injected content."""
    answer = site.get("/")

    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert " style=" not in answer.text
    assert "<style" not in answer.text


def test_a_brake_that_is_on_is_shown_with_what_it_prevents(tmp_path: Path) -> None:
    """The notice is below the headline, even while the brake prevents nothing, and appears once."""
    brakes = Brakes(outside_change=OutsideChangeBrake())
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), replace(scaler(QUEUE_15), rules=Rules([brakes])))
        life.queue(45)
        life.size = 5
        life.queue(75)
        with serving_pages(state, life) as site:
            idle = site.get("/autoscalers/web").text
            life.queue(150)
            holding = site.get("/autoscalers/web").text
    assert "The brake outsideChange is on: something else set the size from 3 to 5" in idle
    assert "<dt>Brake outsideChange</dt><dd>a size that another program or person set is kept for 10m</dd>" in idle
    assert "The brake outsideChange is on" not in holding
    assert "; something else set the size from 3 to 5" in holding


def test_an_open_schedule_is_shown_with_its_bounds(tmp_path: Path) -> None:
    night = ScheduleEntry("night", "UTC", "0 0 * * *", timedelta(days=2), max_replicas=4)
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), replace(scaler(QUEUE_15), rules=Rules([Schedules((night,))])))
        life.queue(45)
        with serving_pages(state, life) as site:
            shown = site.get("/autoscalers/web").text
    assert "The schedule night is open: max 4." in shown
    assert "The schedule night was open, with maximum 4" in shown


@pytest.mark.parametrize("path", ["/", "/autoscalers/web"])
def test_a_pause_is_shown_beside_a_failure(tmp_path: Path, path: str) -> None:
    """Each state has its own badge."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(QUEUE_15))
        life.step(Failure("no answer"))
        steer(state, "web", ManualControls(Pause(Direction.BOTH, "ann", "release", life.now, None)))
        with serving_pages(state, life) as site:
            shown = site.get(path).text
    assert 'class="badge failing error"' in shown
    assert 'class="badge paused" title="An operator has paused it"' in shown


def test_instances_without_a_sample_are_shown_in_the_list_and_on_the_page(tmp_path: Path) -> None:
    """The state is steady, and the value is that of one instance."""
    inflight = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(inflight))
        life.step(samples({"i-0": 10_000}, life.now))
        with serving_pages(state, life) as site:
            shown = [site.get(path).text for path in ("/", "/autoscalers/web")]
            life.step(samples([10_000] * 3, life.now))
            measured = [site.get(path).text for path in ("/", "/autoscalers/web")]
    assert all("2 of 3 instances have no sample of inflight: i-1, i-2" in text for text in shown)
    assert not any("no sample of" in text for text in measured)


def test_a_command_in_a_message_is_shown_as_code(tmp_path: Path) -> None:
    """What a server says stays text, also in backticks."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(QUEUE_15))
        life.step(Failure("no sample; `autoscaler check --live` says why; `<b>`"))
        with serving_pages(state, life) as site:
            shown = [site.get(path).text for path in ("/", "/autoscalers/web")]
    for text in shown:
        assert "<code>autoscaler check --live</code>" in text
        assert "<code>&lt;b&gt;</code>" in text


def test_an_unknown_autoscaler_is_answered_with_an_error_page(site: Served) -> None:
    """Its reader is a person, not a program."""
    answer = site.get("/autoscalers/nosuch")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "No autoscaler &#39;nosuch&#39; is configured or remembered" in answer.text


@pytest.mark.parametrize(
    ("error", "status", "shown", "logged"),
    [
        (StateError("the state at state.db cannot be read: disk I/O error; check the disk"), 503, "check the disk", 0),
        (ZeroDivisionError("secret"), 500, "see the daemon's log", 1),
    ],
    ids=["state", "bug"],
)
def test_a_failed_request_shows_an_error_page(
    site: Served, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, shown: str, logged: int
) -> None:
    """The page names the cause if the operator can remove it. A bug is logged; its message may contain a secret."""

    def broken() -> None:
        raise error

    monkeypatch.setattr(site.daemon.state.archive, "latest", broken)
    answer = site.get("/")

    assert answer.status_code == status
    assert shown in unescape(answer.text)
    assert "Traceback" not in answer.text
    assert "secret" not in answer.text
    assert len(site.log.named("request_failed")) == logged


def test_a_time_without_fractions_selects_the_decision_within_that_second(tmp_path: Path) -> None:
    """A browser's time field has no fractions of a second."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60))
        life.now = life.now.replace(microsecond=600_000)
        life.cpu(60)
        made = life.now
        life.cpu(60)
        with serving_pages(state, life) as site:
            text = site.get(f"/autoscalers/web?at={made:%Y-%m-%dT%H:%M:%S}").text
    assert f'Decision of <time datetime="{made:%Y-%m-%dT%H:%M:%S}.600000Z"' in text


@pytest.mark.parametrize(("shown", "read"), [("1h", True), ("7d", False)])
def test_a_refresh_does_not_read_a_week_for_the_table(site: Served, shown: str, *, read: bool) -> None:
    """Reading forty thousand decisions every five seconds would take a core from the shards."""
    refreshed = site.get(f"/autoscalers/web?range={shown}", headers={"HX-Request": "true"})

    assert ('id="points"' in refreshed.text) is read
    assert 'id="points"' in site.get(f"/autoscalers/web?range={shown}").text


@pytest.mark.parametrize("path", ["/static/page.css", "/static/live.js", "/static/vendor/htmx/htmx.min.js"])
def test_browsers_check_static_files_for_changes(site: Served, path: str) -> None:
    """After an update, new pages must not run with old scripts."""
    answer = site.get(path)

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["ETag"]


@pytest.mark.parametrize("path", ["/static/../routes.py", "/static/%2e%2e/routes.py", "/static/..%2froutes.py"])
def test_only_the_folder_of_static_files_is_served(site: Served, path: str) -> None:
    """The parent folder contains the program."""
    assert site.get(path).status_code == 404


def test_the_vendored_libraries_are_the_published_files_with_their_licences() -> None:
    """The licences require their text beside the code. CONTRIBUTING says where the files come from."""
    vendor = Path(page.__file__).parent / "static" / "vendor"
    sums = {line[66:]: line[:64] for line in (vendor / "SHA256SUMS").read_text().splitlines()}
    files = {str(file.relative_to(vendor)): file for file in vendor.rglob("*.*s")}
    assert {name: sha256(file.read_bytes()).hexdigest() for name, file in files.items()} == sums
    assert "The MIT License" in (vendor / "uplot" / "LICENSE").read_text()
    assert "Zero-Clause BSD" in (vendor / "htmx" / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("tier", "notice"),
    [
        (DETAIL, "What decisions were made from of before"),
        (HISTORY, "History and events of before"),
    ],
)
def test_the_page_says_which_data_max_size_has_deleted(site: Served, tier: str, notice: str) -> None:
    """Otherwise the deleted time looks like a time without events."""
    for path in ("/", "/autoscalers/web"):
        assert "state.maxSize" not in site.get(path).text
    until = to_micros(datetime(2026, 1, 1, 11, 30, tzinfo=UTC))
    with site.daemon.state._database.writing() as connection:
        save(connection, schema.CUT, {tier: _CUT.dump(_Cut(until, until))})
    for path in ("/", "/autoscalers/web"):
        text = " ".join(site.get(path).text.split())
        assert notice in text
        assert '<time datetime="2026-01-01T11:30:00' in text
        assert "gone: the state had grown to state.maxSize." in text


def test_a_label_links_to_all_autoscalers_that_have_it(site: Served) -> None:
    """The list shows a few labels, the page of an autoscaler all."""
    link = '<a class="tag" href="/?labels=example.org%2Fzone%3Da" title="All with this label">example.org/zone=a</a>'
    listed, own = site.get("/").text, site.get("/autoscalers/web").text
    assert link in listed
    assert "and 1 more labels" in listed
    assert link in own
    assert "z=3" in own
    assert 'id="row-web"' in site.get("/?labels=team%3Dshop").text
    assert 'id="row-web"' not in site.get("/?labels=team%21%3Dshop").text
    assert "is not a valid label selector" in site.get("/?labels=team%3Dshop,").text


def test_a_scale_in_has_an_arrow_down(tmp_path: Path) -> None:
    """An arrow up beside a smaller size would confuse the reader."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60, minimum=1), size=4)
        made = life.cpu(60), life.cpu(20, after=600)
        assert made[-1].written == 2
        with serving_pages(state, life) as site:
            listed = site.get("/").text

    assert "Scaling in</span>" in listed
    assert "M6 12 1 7h3V0h4v7h3z" in listed


def test_a_client_that_may_not_make_changes_sees_a_command_and_no_forms(site: Served) -> None:
    """The page does not offer a change that the server would refuse."""
    refused = site.get("/autoscalers/web").text
    allowed = site.control.get("http://localhost/autoscalers/web", timeout=10).text

    config = "/etc/autoscaler/autoscaler.yaml"
    assert f"Read-only here. Run: <code>autoscaler pause web --config.file={config}</code>" in refused
    assert "hx-post" not in refused
    assert 'formaction="/api/v1/autoscalers/web/pause"' in allowed
    assert f"recorded with your name, {THIS_USER}" in allowed
    assert "Read-only" not in allowed


@pytest.mark.parametrize("path", ["/", "/autoscalers/web", "/autoscalers/nosuch", "/status"])
def test_every_page_shows_the_daemon_s_status(site: Served, path: str) -> None:
    """A problem of the daemon affects every autoscaler."""
    text = site.get(path).text

    assert "All well" in text
    assert "prometheus-autoscaler 1.2.3" in text


def test_a_refused_reload_is_shown_on_every_page(site: Served) -> None:
    """From then on, the file and the running configuration differ."""
    site.daemon.health.reload_failed(
        ["autoscaler.yaml:3:1: autoscalers[0].maxReplicas: is missing; <add> it", "and more"]
    )

    assert "The last reload was refused; the previous configuration stays in force" in site.get("/").text
    status = " ".join(site.get("/status").text.split())
    assert "maxReplicas: is missing; &lt;add&gt; it" in status
    assert "and 1 more" in status


def test_refused_files_of_a_team_are_on_the_status_page(daemon: Daemon) -> None:
    """The team sees its own mistake; all see that there is one."""
    daemon.grants, daemon.owners = {"shop": Grant("shop-", 4)}, {"web": "shop"}
    daemon.refused = {"shop": (Problem("web.yaml", 2, 1, "", "<b> is wrong; write a list"),)}
    with serving(daemon) as served:
        assert "1 file or autoscaler of team shop is refused" in served.get("/").text
        assert "web.yaml:2:1: &lt;b&gt; is wrong; write a list" in served.get("/status").text


def test_discovered_policies_are_on_the_status_page(site: Served) -> None:
    """What is refused is named with the reason, and what failed."""
    site.daemon.discovered = DISCOVERED

    status = " ".join(site.get("/status").text.split())
    assert 'nomad/shop/&lt;b&gt;/q: <span class="quiet">check &lt;c&gt;: it is left out</span>' in status
    assert "shop: HTTP 403" in status
    site.daemon.discovered = DiscoveredList()
    assert "Discovered autoscalers" not in site.get("/status").text


def test_a_page_shows_twelve_instances_and_counts_the_others(tmp_path: Path) -> None:
    """Ten thousand instances must not make a page of ten thousand rows."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60), size=60)
        life.cpu(60)
        with serving_pages(state, life) as site:
            text = site.get("/autoscalers/web").text

    assert "60 of 60 ready" in text
    assert "and 48 more; problems come first" in text
    assert text.count('<th scope="row">i-') == 12


def test_the_table_over_time_has_a_cell_for_each_heading(tmp_path: Path) -> None:
    """The last decision may have read no metric: outside the bounds, or under an override."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), replace(scaler(CPU_60, minimum=5), dry_run=False), size=5)
        life.cpu(60)
        life.step(samples([600] * 3), target=of_size(3))
        with serving_pages(state, life) as site:
            page = site.get("/autoscalers/web").text
    table = page[page.index('id="points"') :]
    head, *lines = table[: table.index("</table>")].split("<tr>")[1:]
    assert head.count("<th") == 6
    assert [line.count("<td>") + line.count("<th") for line in lines] == [6, 6]
    assert "<td>not read</td>" in lines[0]
    assert "<td>60 (60)</td>" in lines[1]


def test_the_command_of_a_reader_finds_the_daemon_that_serves_the_page(
    site: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command without options finds the service alone."""
    monkeypatch.setattr(routes, "CONTROL_SOCKET", site.control_socket)
    assert "Run: <code>autoscaler pause web</code>" in site.get("/autoscalers/web").text
