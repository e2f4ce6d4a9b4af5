"""The report of a replay: one file that loads nothing and runs only its own script."""

import json
import re
from base64 import b64encode
from datetime import timedelta
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser

from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.compare.fit import Fit
from autoscaler.whatif.replay.replay import Candidate
from autoscaler.whatif.report import report
from tests.decide.build import NOW
from tests.replaced import replace
from tests.whatif.courses import course, curve, made_up
from tests.whatif.pasts import compared, shop, shop_past

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}"


def doubling(minutes: float) -> float:
    return 3 if minutes < 20 else 6


def document(name: str = "shop-web", label: str = "new.yaml") -> ReplayDocument:
    """An hour in which the load doubles."""
    past = shop_past(doubling, 240, name, failing=range(150, 160))
    return compared(past, Candidate(label, replace(shop(name), max_replicas=5)))


@cache
def usual() -> str:
    return report([document()], NOW + timedelta(hours=2), "1.2.3")


class Parts(HTMLParser):
    """The elements of a page, and the content of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.held: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            return
        tag, attributes = self.elements[-1]
        before = ""
        if self.held and self.held[-1][1] is attributes:
            before = self.held.pop()[2]
        self.held.append((tag, attributes, before + data))


def policy(page: str) -> str:
    metas = [attributes for tag, attributes in Parts(page).elements if tag == "meta"]
    return next(each["content"] or "" for each in metas if each.get("http-equiv") == "Content-Security-Policy")


def test_the_policy_allows_only_its_own_script_and_style() -> None:
    """By their hashes, so that nothing else in the page can run."""
    for tag, attributes, text in Parts(usual()).held:
        if attributes.get("type") != "application/json":
            digest = b64encode(sha256(text.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy(usual())
    assert policy(usual()).startswith("default-src 'none'; ")
    assert "unsafe" not in policy(usual())


def test_the_report_loads_nothing() -> None:
    for tag, attributes in Parts(usual()).elements:
        assert not {"src", "srcset", "data", "action", "style", "onclick"} & attributes.keys(), tag
        assert tag not in ("link", "iframe", "object", "base", "form")
        assert (attributes.get("href") or "#").startswith("#")
    styles = [text for tag, _, text in Parts(usual()).held if tag == "style"]
    assert not any("url(" in text or "@import" in text for text in styles)


def test_measures_and_findings_need_no_script() -> None:
    """The preview of a mail shows them."""
    page = re.sub(r"<script.*?</script>", "", usual(), flags=re.DOTALL)

    for text in ("Instance-hours", "Unserved demand", "as it was", "had no value in 10 cycles"):
        assert text in page
    assert "240 of 240 recorded decisions are the same" in page


def test_the_picture_has_the_real_size_each_candidate_and_the_load() -> None:
    data = json.loads(next(text for _, attributes, text in Parts(usual()).held if attributes.get("id") == "data"))
    assert [each["label"] for each in data[0]["candidates"]] == ["as it was", "new.yaml"]
    assert {len(data[0]["load"]), *[len(each["size"]) for each in data[0]["candidates"]]} == {len(data[0]["at"])}


def test_a_simulation_that_does_not_fit_has_no_measures_and_no_picture() -> None:
    fit = Fit(seconds=1, instance_hours=1, simulated_instance_hours=2, unserved=0, simulated_unserved=0.5, holds=False)
    page = report([made_up(curve([2, 2]), course([2, 2]), fit=fit)], NOW, "1")
    assert "nothing is compared" in page
    assert 'class="plots"' not in page
    assert "Instance-hours" not in page


def test_names_are_neither_markup_nor_script() -> None:
    """They may come from an untrusted file or back end."""
    page = report([document(HOSTILE, HOSTILE), document("b")], NOW, "1")
    parts = Parts(page)

    assert [tag for tag, _ in parts.elements].count("script") == 2
    assert not any("onerror" in attributes for _, attributes in parts.elements)
    assert not any(tag == "img" for tag, _ in parts.elements)
    data = next(text for _, attributes, text in parts.held if attributes.get("id") == "data")
    assert json.loads(data)[0]["candidates"][1]["label"] == HOSTILE
    assert "49" not in re.findall(r"<title>.*?</title>", page)[0]


def test_several_autoscalers_are_in_one_file() -> None:
    page = report([document("a"), document("b")], NOW, "1")

    ids = [attributes["id"] for _, attributes in Parts(page).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"replay-0", "replay-1"} <= set(ids)


def test_the_modules_are_one_script() -> None:
    """An import would load a file that does not exist."""
    script = next(text for tag, attributes, text in Parts(usual()).held if attributes.get("type") == "module")

    assert not re.search(r"^import |^export (const|\{)|/static/", script, re.MULTILINE)
    assert "</script" not in script
