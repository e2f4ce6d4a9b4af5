"""Prints each figure beside its aim. A missed aim is no error, because figures depend on the machine."""

from bench import exposition, get, memory, page, startup, state, steps


def main() -> None:
    """Run the measurements one after another."""
    report("decisions", f"{steps.per_second():,.0f} steps/s", f"at least {steps.AIM_PER_SECOND:,}")
    report("autoscaler check", f"{startup.seconds():.2f} s", f"under {startup.AIM_SECONDS} s")
    report("idle daemon", f"{memory.mebibytes():.0f} MiB", f"under {memory.AIM_MEBIBYTES} MiB")
    report("get of 2,000", f"{get.seconds():.2f} s", f"under {get.AIM_SECONDS} s")
    report("page of 2,000", f"{page.milliseconds():.0f} ms", f"under {page.AIM_MILLISECONDS} ms")
    report("/metrics of 2,000", f"{exposition.milliseconds():.0f} ms", f"under {exposition.AIM_MILLISECONDS} ms")
    state.main()


def report(what: str, found: str, aim: str) -> None:
    """Print one line."""
    print(f"{what:<18} {found:>16}   aim: {aim}", flush=True)


if __name__ == "__main__":
    main()
