"""Labels and selectors in the syntax of Kubernetes."""

import re
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autoscaler.errors import SelectorError
from autoscaler.labels import MAX_SELECTOR, PATTERN, Selector, check_key, check_value

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
        ("owner!=ann", True),  # Kubernetes: a missing label has another value
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
def test_a_selector_has_the_meaning_of_kubectl(text: str, fits: bool) -> None:
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
        ("a=b" * MAX_SELECTOR, f"may have {MAX_SELECTOR} characters, not"),
    ],
)
def test_an_invalid_selector_is_refused_with_the_expected_form(text: str, said: str) -> None:
    """It may be meant to pause many autoscalers."""
    with pytest.raises(SelectorError, match=re.escape(said)):
        Selector.parse(text)


@given(st.from_regex(PATTERN, fullmatch=True))
def test_a_selector_that_matches_the_schema_is_accepted(text: str) -> None:
    Selector.parse(text)


@given(st.text(st.sampled_from("aB0-_./=!,()<> \tin"), max_size=20))
@example("a in (b)c")
@example("tier in (web),!x")
def test_a_selector_that_does_not_match_the_schema_is_refused(text: str) -> None:
    if re.search(PATTERN, text) is None:
        with pytest.raises(SelectorError):
            Selector.parse(text)
    else:
        Selector.parse(text)


@pytest.mark.parametrize("text", [" ", "a= ", "a in (", "a in ( ", "a ", "a=b ,", "a in (b) ,", "!", "a.", "a-"])
def test_a_long_selector_is_parsed_quickly(text: str) -> None:
    """Every client may send one."""
    began = process_time()
    with suppress(SelectorError):
        Selector.parse((text + text[-1] * (MAX_SELECTOR - len(text) - 1)) + "(")
    with suppress(SelectorError):
        Selector.parse((text * MAX_SELECTOR)[: MAX_SELECTOR - 1] + "(")
    assert process_time() - began < 20  # a few milliseconds; minutes if the time grew with the cube of the length


@pytest.mark.parametrize("key", ["team", "a.b-c_d", "example.org/team", "A" * 63])
def test_a_valid_key_is_accepted(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key", ["", "-a", "a/", "/a", "Example.org/a", "a/b/c", "A" * 64, f"{'a' * 254}/b", "a b", "ä"]
)
def test_an_invalid_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is not a valid key"):
        check_key(key)


@pytest.mark.parametrize("value", ["-", "a b", "a/b", "v" * 64, "a\n", "ä"])
def test_an_invalid_value_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="is not a valid label value"):
        check_value(value)
