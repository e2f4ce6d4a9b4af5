"""The file's section `controller`."""

from datetime import timedelta
from typing import Final

from autoscaler import model
from autoscaler.fields.types import Flag, Ratio, Section, SyncPeriod
from autoscaler.rules import with_rule_keys
from autoscaler.target import Duration

_DEFAULTS: Final = model.ControllerOptions()


@with_rule_keys(lambda rule: rule.controller_keys)
class Controller(Section):
    """Has the names and defaults of kube-controller-manager's flags --horizontal-pod-autoscaler-*."""

    sync_period: SyncPeriod = timedelta(seconds=15)
    """How often each autoscaler decides; at least 1s."""
    tolerance: Ratio = _DEFAULTS.tolerance
    """The deviation from the target that causes no change; 0.1 is 10 %."""
    downscale_stabilization: Duration = _DEFAULTS.downscale_stabilization
    """The default of the scaleDown window."""
    cpu_initialization_period: Duration = _DEFAULTS.cpu_initialization_period
    """How long after its start an instance's cpu samples may be skipped."""
    initial_readiness_delay: Duration = _DEFAULTS.initial_readiness_delay
    """How long after its start an instance that turned unready counts as never ready."""
    dry_run: Flag = False
    """true: decide and log, write nothing."""

    def options(self) -> model.ControllerOptions:
        """Return the options of decisions."""
        return model.ControllerOptions(
            self.tolerance,
            self.downscale_stabilization,
            self.cpu_initialization_period,
            self.initial_readiness_delay,
        )
