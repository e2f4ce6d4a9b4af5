"""Labels, and selectors over them, as Kubernetes takes them."""

import re
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoscaler.errors import SelectorError
from autoscaler.labels import LONGEST_SELECTOR, PATTERN, Selector, check_key, check_value

SHOP = {"team": "shop", "tier": "web", "example.org/zone": "a", "empty": ""}


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        (" ", True),
        ("team=shop", True),
        ("team==shop", True),
        (" team = shop ,tier!=db", True),
        ("team=mail", False),
        ("team!=mail", True),
        ("owner!=ann", True),  # Kubernetes: what is absent has no such value
        ("owner=", False),
        ("empty=", True),
        ("tier in (api, web)", True),
        ("tier in(api)", False),
        ("tier notin (db,api)", True),
        ("owner notin (ann)", True),
        ("owner in (ann)", False),
        ("empty in (,a)", True),
        ("team", True),
        ("owner", False),
        ("!owner", True),
        ("! team", False),
        ("example.org/zone=a,team=shop", True),
        ("team=shop,tier=db", False),
        ("in in (in)", False),
    ],
)
def test_a_selector_means_what_it_means_to_kubectl(text: str, fits: bool) -> None:
    """Who has learned it there need not learn it again."""
    assert Selector.parse(text).matches(SHOP) is fits


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("team=shop,", "'' is not a valid label selector; expected terms such as team=shop"),
        ("team=shop tier=web", "'team=shop tier=web' is not a valid label selector"),
        ("a=b,,c", "',c' is not a valid label selector"),
        ("size>3", "'size>3' is not a valid label selector"),
        ("tier in ()", "'tier in ()' names no value; write some"),
        ("tier in", "'tier in' is not a valid label selector"),
        ("-team=shop", "'-team' is not a valid key"),
        ("team=sh*p", "'sh*p' is not a valid label value"),
        ("a=b" * LONGEST_SELECTOR, f"may have {LONGEST_SELECTOR} characters, not"),
    ],
)
def test_another_text_is_refused_with_what_is_expected(text: str, said: str) -> None:
    """A stop of the whole fleet must not hang on a guess."""
    with pytest.raises(SelectorError, match=re.escape(said)):
        Selector.parse(text)


@settings(max_examples=25)
@given(st.from_regex(PATTERN, fullmatch=True))
def test_what_the_schema_describes_is_taken(text: str) -> None:
    Selector.parse(text)


@given(st.text(st.sampled_from("aB0-_./=!,()<> \tin"), max_size=20))
@example("a in (b)c")
@example("tier in (web),!x")
def test_what_the_schema_does_not_describe_is_refused(text: str) -> None:
    if re.search(PATTERN, text) is None:
        with pytest.raises(SelectorError):
            Selector.parse(text)
    else:
        Selector.parse(text)


@pytest.mark.parametrize("text", [" ", "a= ", "a in (", "a in ( ", "a ", "a=b ,", "a in (b) ,", "!", "a.", "a-"])
def test_a_long_one_is_read_at_once(text: str) -> None:
    """It comes from whoever may ask."""
    began = process_time()
    with suppress(SelectorError):
        Selector.parse((text + text[-1] * (LONGEST_SELECTOR - len(text) - 1)) + "(")
    with suppress(SelectorError):
        Selector.parse((text * LONGEST_SELECTOR)[: LONGEST_SELECTOR - 1] + "(")
    assert process_time() - began < 0.5


@pytest.mark.parametrize("key", ["team", "a.b-c_d", "example.org/team", "A" * 63])
def test_a_key_that_kubernetes_takes(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key", ["", "-a", "a/", "/a", "Example.org/a", "a/b/c", "A" * 64, f"{'a' * 254}/b", "a b", "ä"]
)
def test_a_key_that_it_does_not_take(key: str) -> None:
    with pytest.raises(ValueError, match="is not a valid key"):
        check_key(key)


@pytest.mark.parametrize("value", ["-", "a b", "a/b", "v" * 64, "a\n", "ä"])
def test_a_value_that_it_does_not_take(value: str) -> None:
    with pytest.raises(ValueError, match="is not a valid label value"):
        check_value(value)
