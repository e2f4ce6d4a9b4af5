"""`autoscaler history`, without a terminal."""

import json

from tests.cli.scene import Scene, ServedScene


def test_a_pipe_gets_a_row_a_decision(online: ServedScene) -> None:
    """A plot is for eyes."""
    said = online.run("history", "web")
    assert said.code == 0
    rows = [line.split(maxsplit=5) for line in said.lines]
    assert rows[0] == ["TIME", "CURRENT", "DESIRED", "MIN", "MAX", "METRICS"]
    assert [row[1:] for row in rows[1:]] == [
        ["3", "3", "2", "10", "cpu: 60%/60%"],
        ["3", "6", "2", "10", "cpu: 120%/60%"],
        ["6", "6", "2", "10", "cpu: 60%/60%"],
        ["6", "6", "2", "10", "cpu: 60%/60%"],
    ]


def test_json_holds_the_points(offline: Scene) -> None:
    """Also without a daemon."""
    found = json.loads(offline.run("history", "web", "--since", "10m", "-o", "json").out)
    assert [point["desired"] for point in found["points"]] == [3, 6, 6, 6]


def test_a_time_without_decisions_says_how_to_look_further(online: ServedScene) -> None:
    """Nothing on stdout."""
    said = online.run("history", "web", "--since", "2h", "--until", "1h")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no decisions in this time; --since looks further back\n"


def test_a_time_that_ends_before_it_begins_is_refused(online: ServedScene) -> None:
    """Wrong arguments: 2."""
    assert online.run("history", "web", "--since", "1h", "--until", "2h").code == 2
