"""What operators ask for survives everything but its own end."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from autoscaler.model import Direction, Pause, Steering
from autoscaler.record import Archive, Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAUSED = Steering(pause=Pause(Direction.IN, "ann", "load test", NOW, NOW + timedelta(hours=2)))
DAY = timedelta(days=1)


def test_a_pause_survives_a_restart(tmp_path: Path) -> None:
    with Store.open(None, tmp_path, DAY) as store:
        store.steer("web", PAUSED)
    with Store.open(None, tmp_path, DAY) as store:
        assert store.steering() == {"web": PAUSED}


def test_what_is_taken_back_is_gone(tmp_path: Path) -> None:
    with Store.open(None, tmp_path, DAY) as store:
        store.steer("web", PAUSED)
        store.steer("web", Steering())
        assert store.steering() == {}
    with Archive.open_archive(None, tmp_path) as archive:
        assert archive.steering() == {}
