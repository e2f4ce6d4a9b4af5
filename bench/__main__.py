"""Prints each figure beside its aim. Exit 0 also when one is missed: what is measured depends on the machine."""

from bench import memory, startup, steps


def main() -> None:
    """Measure one after the other."""
    report("decisions", f"{steps.per_second():,.0f} steps/s", f"at least {steps.AIM_PER_SECOND:,}")
    report("autoscaler check", f"{startup.seconds():.2f} s", f"under {startup.AIM_SECONDS} s")
    report("idle daemon", f"{memory.mebibytes():.0f} MiB", f"under {memory.AIM_MEBIBYTES} MiB")


def report(what: str, found: str, aim: str) -> None:
    """One line."""
    print(f"{what:<18} {found:>16}   aim: {aim}", flush=True)


if __name__ == "__main__":
    main()
