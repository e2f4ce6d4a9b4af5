"""Every query of config/grafana-dashboard.json, on a real Prometheus."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from autoscaler.metrics.text import CONTENT_TYPE, exposition
from tests.metrics.exposed import everything, happen
from tests.servers.prometheus import PrometheusServer, running_prometheus, static
from tests.servers.web import Answer, Request, answering

DASHBOARD: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent.parent / "config/grafana-dashboard.json").read_text()
)
PANELS: Final = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES: Final = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
VARIABLES: Final = {"$__rate_interval": "10s", "$job": ".*", "$instance": ".*", "$autoscaler": ".*"}


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """A Prometheus that has scraped the exposition more than once, with a cycle before each scrape."""
    shown = everything()

    def scrape(_: Request) -> Answer:
        happen(shown)
        return Answer(200, exposition(shown.registry), {"Content-Type": CONTENT_TYPE})

    folder = tmp_path_factory.mktemp("prometheus")
    with (
        answering(scrape) as url,
        running_prometheus(folder, [static("autoscaler", url.removeprefix("http://"))]) as server,
    ):
        server.wait_for("count_over_time(autoscaler_autoscalers[1m]) >= 3")
        yield server


@pytest.mark.slow
@pytest.mark.parametrize(("title", "expr"), QUERIES, ids=[title for title, _ in QUERIES])
def test_a_query_finds_data(prometheus: PrometheusServer, title: str, expr: str) -> None:
    """A panel with a mistyped name says "No data", like an idle system."""
    for name, value in VARIABLES.items():
        expr = expr.replace(name, value)
    assert "$" not in expr
    assert prometheus.wait_for(expr), title


@pytest.mark.slow
def test_the_variables_find_data(prometheus: PrometheusServer) -> None:
    """Otherwise there would be nothing to select."""
    queries = [each["query"]["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    assert len(queries) == 3
    for query in queries:
        ((selector, label),) = re.findall(r"label_values\((.*), (\w+)\)", query)
        for name, value in VARIABLES.items():
            selector = selector.replace(name, value)
        assert all(label in series["metric"] for series in prometheus.wait_for(selector))


def test_the_dashboard_can_be_imported_anywhere() -> None:
    """Each panel uses the selected data source and fetches nothing from another host."""
    sources = [panel["datasource"] for panel in PANELS] + [each["datasource"] for p in PANELS for each in p["targets"]]
    assert all(source == DATASOURCE for source in sources)
    chosen = DASHBOARD["templating"]["list"][0]
    assert (chosen["name"], chosen["type"], chosen["query"]) == ("datasource", "datasource", "prometheus")
    assert "http" not in json.dumps(DASHBOARD)
    assert "id" not in DASHBOARD


def test_every_panel_says_what_it_shows_and_has_its_own_place() -> None:
    """Grafana moves panels with equal ids or positions."""
    assert all(panel["title"] and panel["description"] for panel in PANELS)
    everyone = DASHBOARD["panels"]
    assert len({panel["id"] for panel in everyone}) == len(everyone)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in everyone)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
