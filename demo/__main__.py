"""Runs the demo until Ctrl-C, or for `--seconds`. Exits with 0 then only if it scaled out and in again."""

import argparse
import signal
import sys
import time
from typing import Final

from demo.show import HEADER, Moment, Summary, Teller
from demo.stage import Stage, StageError
from demo.traffic import PERIOD_SECONDS, traffic
from tools.prometheus import PrometheusNotFound

_TICK_SECONDS: Final = 0.25
_FIRST_SAMPLE_SECONDS: Final = 20.0
"""How long decisions without a sample are not printed, because Prometheus has yet to find the first worker."""


def play(stage: Stage, seconds: float | None) -> Summary:
    """Run the wave of traffic for this time (None: until Ctrl-C), and print every decision. Raises StageError.

    The decisions before the first sample are left out.
    """
    started = time.monotonic()
    moments: list[Moment] = []
    teller = Teller()
    while seconds is None or time.monotonic() - started < seconds:
        elapsed = time.monotonic() - started
        now = traffic(elapsed, until=seconds)
        stage.set_traffic(now)
        for line in stage.new_lines():
            if line["event"] == "decision":
                moment = Moment.of(line, elapsed, now)
                if moments or not moment.failed or elapsed > _FIRST_SAMPLE_SECONDS:
                    moments.append(moment)
                    teller.tell(moment)
            elif line["level"] in ("warning", "error"):
                say(f"{line['event']}: {line.get('error') or line.get('message') or line}")
        stage.check_running()
        time.sleep(_TICK_SECONDS)
    window = f"{time.monotonic() - started:.0f}s"
    seen = 'count(up{job="shop"} == 1)'
    return Summary(moments, stage.query(f"max_over_time({seen}[{window}:1s])") or 0, stage.query(seen) or 0)


def introduce(stage: Stage, seconds: float | None) -> str:
    """Return what the demo shows, and its addresses."""
    end = f"after {seconds:.0f} s" if seconds else "with Ctrl-C"
    this = f"--config.file {stage.config}"
    return f"""\

Every 2 s the daemon asks Prometheus how many requests each worker has in flight, and keeps
them near 10 each. The traffic rises from 6 to 56 and falls again, every {PERIOD_SECONDS} s.
Each line below is a decision. The first comes in some seconds, once Prometheus has found a
worker; a decision that repeats the one before is shown every 10 s only.

  page         {stage.page_url}   every decision and why; open it in a browser
  terminal     .venv/bin/autoscaler get {this}
               .venv/bin/autoscaler explain shop {this}
               .venv/bin/autoscaler pause shop --for 20s {this}
  Prometheus   {stage.prometheus_url}
  settings     {stage.config} (config/demo.yaml with addresses filled in)
  daemon's log {stage.log}
  ends         {end}; nothing is left behind
"""


def main() -> int:
    """Return the exit code: 0 fine, 1 the demo did not scale or failed."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--seconds", type=float, help=f"stop by itself; one wave lasts {PERIOD_SECONDS} s")
    seconds: float | None = parser.parse_args().seconds
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Stage() as stage:
            try:
                say("Starting a real Prometheus (fetched once when there is none)")
                stage.start_prometheus()
                stage.set_traffic(traffic(0))
                stage.start_daemon()
                say(introduce(stage, seconds))
                say(HEADER)
                summary = play(stage, seconds)
            finally:
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_IGN)  # what follows is short, and must not be left half done
            say(str(summary))
    except KeyboardInterrupt:
        say("\nStopped: the daemon, its workers and Prometheus have ended, the temporary folder is gone.")
        return 0
    except (StageError, PrometheusNotFound) as error:
        sys.stderr.write(f"The demo failed: {error}\n")
        return 1
    if summary.went_out_and_back:
        say("\nIt scaled out and back in to one worker. Nothing is left running.")
        return 0
    say(f"\nIt did not scale out and back in to one worker; one wave lasts {PERIOD_SECONDS} s.")
    return 1


def say(text: str) -> None:
    """Print without a buffer, also to a pipe."""
    print(text, flush=True)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
