"""The configuration in force, and how all parts of the daemon take up the next one."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from autoscaler.config.origins import origins_of
from autoscaler.config.settings import Settings, WebSettings
from autoscaler.errors import AutoscalerError, ConfigError, bug
from autoscaler.log.reporter import Reporter
from autoscaler.logger import Logger
from autoscaler.metrics.metrics import Metrics
from autoscaler.notify.notifier import Notifier
from autoscaler.record.state import State
from autoscaler.runtime.options import RunOptions, read, read_web, retention_of, unfollowable
from autoscaler.runtime.outside import Outside
from autoscaler.runtime.runtime import Runtime
from autoscaler.threads import Stop, Stopping

if TYPE_CHECKING:
    from autoscaler.web.webconfig import WebConfig

_LOGGED_PROBLEMS: Final = 100
"""Of a configuration that was refused; `check` shows more."""


class Following:
    """Used by the main thread; any thread can read `settings`."""

    def __init__(
        self,
        options: RunOptions,
        settings: Settings,
        state: State,
        runtime: Runtime,
        outside: Outside,
        reporter: Reporter,
        metrics: Metrics,
        notifier: Notifier,
        stop: Stop,
        logger: Logger,
    ) -> None:
        """`settings`: the first configuration, which `begin` follows."""
        self._options = options
        self.settings = settings
        """Those in force, with the autoscalers outside the main file."""
        self._state = state
        self._runtime = runtime
        self._outside = outside
        self._reporter = reporter
        self._metrics = metrics
        self._notifier = notifier
        self._stop = stop
        self._logger = logger
        self._served = 0
        """`runtime.changes` when metrics and log last followed."""

    def begin(self) -> AutoscalerError | None:
        """Begin with the first configuration. Returns why a shard could not begin; None: all did.

        Raises what `Runtime.follow` raises.
        """
        self._report_settings()
        self._reporter.refused(self.settings.refused)
        self._outside.follow(self.settings)
        failure = self._follow_in_runtime(self.settings)
        self._count()
        return failure

    def reload(self, also: Callable[["WebConfig | None", WebSettings], None]) -> Sequence[str]:
        """Read the files again and use them. Returns what is wrong in them; if anything is, nothing changes.

        Calls `also` just before the change; its exceptions count as problems. A shard that the state refuses begins
        later (`shard_not_begun`). Raises Stopping.
        """
        problems = self._follow_files(also)
        for problem in problems[:_LOGGED_PROBLEMS]:
            self._logger.error("reload_failed", error=problem, problems=len(problems))
        if problems:
            self._metrics.reload_failed(problems)
            self._notifier.reload_refused(problems)
        else:
            self._logger.info("reloaded", autoscalers=len(self.settings.autoscalers), adapters=self._runtime.adapters)
        return problems

    def _follow_files(self, also: Callable[["WebConfig | None", WebSettings], None]) -> Sequence[str]:
        """Follow both files: each names users of the other."""
        try:
            files = self._stop.run_interruptibly(partial(read, self._options, origins_of(self.settings)))
            settings = self._stop.run_interruptibly(partial(self._outside.prepare, files))
            web_config = self._stop.run_interruptibly(partial(read_web, self._options, settings))
            if key := unfollowable(self._options, self.settings, settings):
                return [f"{key} changed, which a reload cannot follow; restart the daemon, or change it back"]
            self._follow_in_runtime(settings, partial(also, web_config, settings.web))
        except Stopping:
            raise
        except ConfigError as error:
            return [str(problem) for problem in error.problems]
        except AutoscalerError as error:
            return [str(error)]
        except Exception as error:  # noqa: BLE001 - a defect of ours or an adapter's must not end what runs
            return [f"the reload failed: {bug(error)}"]
        self._take(settings)
        self._report_settings()
        self._count()
        return []

    def follow_outside(self, kinds: Collection[str]) -> None:
        """Use the autoscalers outside the main file as they are now. Raises Stopping.

        It changes only the shards that have a changed one. `kinds`: what changed, "teams" or "policies" or both.
        """
        settings = self._outside.changed()
        try:
            self._follow_in_runtime(settings)
        except Stopping:
            raise
        except AutoscalerError as error:
            for kind in sorted(kinds):
                self._logger.error(f"{kind}_not_followed", error=str(error))  # noqa: TRY400 - expected, not a bug
            self._outside.put_off()
            return
        self._take(settings)
        for kind in sorted(kinds):
            self._logger.info(f"{kind}_followed", autoscalers=len(settings.autoscalers))

    def _take(self, settings: Settings) -> None:
        """Use the settings that the runtime follows, everywhere else, too."""
        self.settings = settings
        self._outside.follow(settings)
        self._reporter.follow({scaler.name for scaler in settings.autoscalers})
        self._reporter.refused(settings.refused)

    def _follow_in_runtime(self, settings: Settings, also: Callable[[], None] = lambda: None) -> AutoscalerError | None:
        """Let the runtime follow. The state follows before a shard begins: a limit counts all of the configuration."""

        def ready() -> None:
            also()
            self._follow_in_state(settings)

        try:
            return self._runtime.follow(settings, ready)
        except BaseException:
            self._follow_in_state(self.settings)
            raise

    def _follow_in_state(self, settings: Settings) -> None:
        self._state.follow(retention_of(settings), settings.autoscalers, settings.identify())

    def _report_settings(self) -> None:
        settings = self.settings
        self._notifier.follow(settings.notify.webhook)
        self._reporter.log_every_decision(settings.log.decisions == "all")
        self._reporter.doubtful("expression_not_checked", [each.problem for each in settings.unknown_expressions])
        self._reporter.doubtful("query_names_no_instance", settings.without_instance)

    def _count(self) -> None:
        self._served = self._runtime.changes
        settings, served = self.settings, self._runtime.served(self.settings)
        self._metrics.configured(served, self._runtime.adapters, settings.prometheus, settings.limits)

    def count_served(self) -> None:
        """Where other shards are held than before, metrics and log are of the autoscalers that are served now."""
        if self._served == self._runtime.changes:
            return
        self._served = self._runtime.changes
        served = self._runtime.served(self.settings)
        self._metrics.serves(served, self._runtime.adapters)
        if len(served) != len(self.settings.autoscalers):
            self._reporter.follow({scaler.name for scaler in served})
