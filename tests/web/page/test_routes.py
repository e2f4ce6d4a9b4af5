"""The page as the server renders it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import requests

from autoscaler.errors import MetricError, StateError
from autoscaler.metrics import Health
from autoscaler.model import (
    Autoscaler,
    Brakes,
    Direction,
    MetricType,
    OutsideChangeBrake,
    Pause,
    Steering,
    TargetRef,
    TargetType,
)
from autoscaler.record import State, schema
from autoscaler.record.max_size import DETAIL, EVENTS, SERIES
from autoscaler.record.times import to_micros
from autoscaler.web import WebServer
from autoscaler.web.page import pages
from tests.decide.build import CPU_60, QUEUE_15, metric, samples, scaler
from tests.documents.lives import Recorded, open_state
from tests.replaced import replace
from tests.web.serving import Daemon, Logged
from tests.web.unix import THIS_USER, unix_session

EVIL = "<script>alert(1)</script>"


class Site:
    """A server with the page, on a state with one autoscaler."""

    def __init__(self, state: State, url: str, log: Logged, health: Health, control: Path) -> None:
        self.state, self.url, self.log, self.health, self.control = state, url, log, health, control

    def get(self, path: str, **headers: str) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            return session.get(self.url + path, headers=headers, timeout=10)


def hostile() -> Autoscaler:
    """An autoscaler whose target's name contains markup."""
    labels = (("example.org/zone", "a"), ("team", "shop"), ("x", "1"), ("y", "2"), ("z", "3"))
    return replace(scaler(CPU_60), target=TargetRef("fleet", EVIL), labels=labels)


@contextmanager
def serving_pages(state: State, life: Recorded) -> Iterator[Site]:
    daemon = Daemon(state, [life.autoscaler])
    daemon.clock.wall = life.now
    log = Logged()
    sources = daemon.sources()
    with TemporaryDirectory() as folder:
        control = Path(folder, "control.sock")
        server = WebServer(sources, "127.0.0.1:0", None, log, pages(sources, log), control)
        server.start()
        try:
            yield Site(state, server.url, log, daemon.health, control)
        finally:
            server.stop()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), hostile())
        life.cpu(60)
        with serving_pages(state, life) as site:
            yield site


@pytest.mark.parametrize("path", ["/", "/autoscalers/web", f"/?q={EVIL}", f"/autoscalers/{EVIL[:8]}"])
def test_names_are_text_and_never_markup(site: Site, path: str) -> None:
    """Names come from back ends and addresses, and the page is used by operators who are logged in."""
    assert "<script>alert" not in site.get(path).text


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline(site: Site) -> None:
    """Injected content could not run."""
    answer = site.get("/")

    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert " style=" not in answer.text
    assert "<style" not in answer.text


def test_a_brake_that_is_on_is_shown_with_what_it_prevents(tmp_path: Path) -> None:
    """The notice stands below the headline, also while the brake prevents nothing, and once only."""
    brakes = Brakes(outside_change=OutsideChangeBrake())
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), replace(scaler(QUEUE_15), brakes=brakes))
        life.queue(45)
        life.size = 5
        life.queue(75)
        with serving_pages(state, life) as site:
            idle = site.get("/autoscalers/web").text
            life.queue(150)
            holding = site.get("/autoscalers/web").text
    assert "The brake outsideChange is on: something else set the size from 3 to 5" in idle
    assert "<dt>Brake outsideChange</dt><dd>a size that somebody else set is left for 10m</dd>" in idle
    assert "The brake outsideChange is on" not in holding
    assert "Limited: something else set the size from 3 to 5" in holding


@pytest.mark.parametrize("path", ["/", "/autoscalers/web"])
def test_a_pause_is_shown_beside_a_failure(tmp_path: Path, path: str) -> None:
    """Each state has its own badge."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(QUEUE_15))
        life.step(MetricError("no answer"))
        state.steer("web", Steering(Pause(Direction.BOTH, "ann", "release", life.now, None)))
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


def test_an_unknown_autoscaler_is_a_page_that_says_so(site: Site) -> None:
    """A person reads it, not a program."""
    answer = site.get("/autoscalers/nosuch")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "no autoscaler &#39;nosuch&#39; is configured or remembered" in answer.text


def test_a_state_that_cannot_be_read_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page names the cause."""

    def broken() -> None:
        raise StateError("the state at state.db cannot be read: disk I/O error; check the disk")

    monkeypatch.setattr(site.state.archive, "latest", broken)
    answer = site.get("/")

    assert answer.status_code == 503
    assert "check the disk" in answer.text


def test_a_bug_costs_its_own_request_and_is_logged(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader sees no traceback; the log has a line for the operator."""

    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(site.state.archive, "latest", broken)
    answer = site.get("/")

    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    assert "ZeroDivisionError" in str(site.log.named("request_failed"))


def test_a_typed_time_explains_the_decision_that_is_shown_with_it(tmp_path: Path) -> None:
    """A browser's field has no fractions of a second, and the decision was made within the second."""
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
def test_a_refresh_reads_no_week_for_a_table(site: Site, shown: str, *, read: bool) -> None:
    """Forty thousand decisions every five seconds would take a core from the shards."""
    refresh = {"Autoscaler-Refresh": "yes"}

    assert ('id="points"' in site.get(f"/autoscalers/web?range={shown}", **refresh).text) is read
    assert 'id="points"' in site.get(f"/autoscalers/web?range={shown}").text


@pytest.mark.parametrize("path", ["/static/page.css", "/static/live.js", "/static/vendor/uplot/uPlot.esm.js"])
def test_static_files_are_asked_for_again(site: Site, path: str) -> None:
    """After an update, new pages must not run with old scripts."""
    answer = site.get(path)

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["ETag"]


@pytest.mark.parametrize("path", ["/static/../routes.py", "/static/%2e%2e/routes.py", "/static/..%2froutes.py"])
def test_nothing_beside_the_static_files_is_served(site: Site, path: str) -> None:
    """The parent folder contains the program."""
    assert site.get(path).status_code == 404


def test_the_vendored_library_carries_its_licence() -> None:
    """MIT requires its text beside the code."""
    from autoscaler.web import page

    folder = Path(page.__file__).parent / "static" / "vendor" / "uplot"
    assert "The MIT License" in (folder / "LICENSE").read_text()


@pytest.mark.parametrize(
    ("tier", "said"),
    [
        (DETAIL, "What decisions were made from of before"),
        (SERIES, "Charts and older decisions of before"),
        (EVENTS, "Events of before"),
    ],
)
def test_a_state_that_was_cut_short_is_said(site: Site, tier: str, said: str) -> None:
    """Otherwise data that state.maxSize deleted looks like a time without events."""
    for path in ("/", "/autoscalers/web"):
        assert "state.maxSize" not in site.get(path).text
    until = to_micros(datetime(2026, 1, 1, 11, 30, tzinfo=UTC))
    with site.state._database.writing() as connection:
        schema.upsert(connection, schema.cut, [{"tier": tier, "until": until, "at": until}])
    for path in ("/", "/autoscalers/web"):
        text = " ".join(site.get(path).text.split())
        assert said in text
        assert '<time datetime="2026-01-01T11:30:00' in text
        assert "gone: the state had grown to state.maxSize." in text


def test_labels_are_shown_and_lead_to_all_that_have_them(site: Site) -> None:
    """The list shows a few, an autoscaler's own page all."""
    link = '<a class="tag" href="/?labels=example.org%2Fzone%3Da" title="All with this label">example.org/zone=a</a>'
    listed, own = site.get("/").text, site.get("/autoscalers/web").text
    assert link in listed
    assert "and 1 more labels" in listed
    assert link in own
    assert "z=3" in own
    assert 'id="row-web"' in site.get("/?labels=team%3Dshop").text
    assert 'id="row-web"' not in site.get("/?labels=team%21%3Dshop").text
    assert "is not a valid label selector" in site.get("/?labels=team%3Dshop,").text


def test_a_size_that_falls_has_an_arrow_that_falls(tmp_path: Path) -> None:
    """An arrow up beside a smaller size would confuse the reader."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60, minimum=1), size=4)
        made = life.cpu(60), life.cpu(20, after=600)
        assert made[-1].written == 2
        with serving_pages(state, life) as site:
            listed = site.get("/").text

    assert "Scaling in</span>" in listed
    assert "M6 12 1 7h3V0h4v7h3z" in listed


def test_who_may_change_nothing_sees_why_and_no_forms(site: Site) -> None:
    """A form that is always refused must not be shown."""
    refused = site.get("/autoscalers/web").text
    with unix_session(site.control) as session:
        allowed = session.get("http://localhost/autoscalers/web", timeout=10).text

    assert "Read-only: only users that web.operators names make changes over TCP" in refused
    assert "use its control socket" in refused
    assert "data-action" not in refused
    assert 'data-action="pause"' in allowed
    assert f"Recorded as {THIS_USER}" in allowed
    assert "You can only look" not in allowed


@pytest.mark.parametrize("path", ["/", "/autoscalers/web", "/autoscalers/nosuch", "/status"])
def test_every_page_says_how_the_daemon_does(site: Site, path: str) -> None:
    """A problem of the daemon affects every autoscaler."""
    text = site.get(path).text

    assert "All well" in text
    assert "prometheus-autoscaler 1.2.3" in text


def test_a_refused_reload_is_told_on_every_page(site: Site) -> None:
    """From then on, the file and the running configuration differ."""
    site.health.reload_failed(["autoscaler.yaml:3:1: autoscalers[0].maxReplicas: is missing; <add> it", "and more"])

    assert "The last reload was refused; the previous configuration stays in force" in site.get("/").text
    told = " ".join(site.get("/status").text.split())
    assert "maxReplicas: is missing; &lt;add&gt; it" in told
    assert "and 1 more" in told


def test_of_many_instances_a_few_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    """A target with ten thousand instances must not make a page of ten thousand rows."""
    with open_state(tmp_path) as state:
        life = Recorded(state.ledger("fleet"), scaler(CPU_60), size=60)
        life.cpu(60)
        with serving_pages(state, life) as site:
            text = site.get("/autoscalers/web").text

    assert "60 of 60 ready" in text
    assert "and 48 more; problems come first" in text
    assert text.count('<th scope="row">i-') == 12
