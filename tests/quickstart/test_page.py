"""The reader of quickstart pages."""

import pytest

from tests.quickstart.page import Commands, File, is_like, steps

PAGE = """\
Write `/etc/web.yaml`:

```yaml
a: 1
```

```sh
web start
```

It starts:

```sh
web status
```

```text
up 8s
```
"""


def test_a_page_gives_files_and_commands_in_order() -> None:
    assert list(steps(PAGE)) == [
        File("/etc/web.yaml", "a: 1\n"),
        Commands("web start\n"),
        Commands("web status\n", "up 8s\n"),
    ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("A file:\n\n```yaml\na: 1\n```\n", "does not end with its name and a colon: 'a: 1"),
        ("```text\nup\n```\n", "nothing was typed that prints 'up"),
        ("`web.yaml`:\n\n```yaml title=web\na: 1\n```\n", "does not begin with ``` and one word"),
    ],
)
def test_a_block_that_would_be_ignored_is_an_error(wrong: str, says: str) -> None:
    """Otherwise an untested page would pass."""
    with pytest.raises(ValueError, match=says):
        list(steps(wrong))


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("web  9/10  4  24s", "web   8750m/10   4   1m5s\n", True),
        ("web  9/10  4  24s", "web   9/10   3   24s\n", False),
        ("web  9/10  4", "web   9/10   4   failing\n", False),
        ("…\nall would work", "web: ok\n\na.yaml: all would work\n", False),
        ("…\na.yaml: all would work", "web: ok\n\na.yaml: all would work\n", True),
        ("web-… Running", "web-1f3 Running\n", True),
        ("up", "up\ndown\n", False),
    ],
)
def test_only_ages_values_of_metrics_and_omissions_may_differ(shown: str, printed: str, alike: bool) -> None:
    assert is_like(shown, printed) is alike
