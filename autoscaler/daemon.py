"""Composition root: builds the runtime from the configuration, and keeps it going until a signal says otherwise."""

import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector

from autoscaler import collector, memory
from autoscaler.clock import Clock
from autoscaler.config.control_socket import default_socket
from autoscaler.cycle import CycleResult
from autoscaler.errors import AutoscalerError, StateError
from autoscaler.log.reporter import Reporter
from autoscaler.log.service_manager import ServiceManager
from autoscaler.logger import Logger
from autoscaler.metrics.grants import watch_grants
from autoscaler.metrics.metrics import Metrics
from autoscaler.metrics.watch import (
    watch_discovery,
    watch_log,
    watch_queries,
    watch_shards,
    watch_state,
)
from autoscaler.notify.notifier import Notifier
from autoscaler.runtime.barrier import Barrier
from autoscaler.runtime.building import Builder, NotBuilt
from autoscaler.runtime.following import Following
from autoscaler.runtime.leadership import Leadership, watch_leadership
from autoscaler.runtime.options import RunOptions, make_state_folder, open_state, read, read_web
from autoscaler.runtime.outside import Outside
from autoscaler.runtime.requests import Order, Reload, Resign
from autoscaler.runtime.runtime import Runtime
from autoscaler.runtime.upkeep import Upkeep
from autoscaler.threads import Stop, Stopping, within
from autoscaler.version import VERSION
from autoscaler.view.discovered import DiscoveredList

if TYPE_CHECKING:
    from autoscaler.web.server import WebServer

_HEARTBEAT_SECONDS: Final = 1.0
_ORDER_SECONDS: Final = 60.0
"""How long an HTTP client waits for a reload or a resignation: running cycles may have to end first."""
_STATE_SECONDS: Final = 5.0
"""How long the end, and /metrics, wait for a database that may not answer."""
_BROKEN: Final = "it failed because of a bug; see the daemon's log, and please report it"
_STOP: Final = (signal.SIGTERM, signal.SIGINT)


class Daemon:
    """One process. Used from the main thread; shards call `_report` from their own.

    The wish to stop goes before all else. What then is under way on the main thread is given up: a file that is read,
    a state that is opened, a reload. Cycles are not: each ends, by its deadline, and is recorded.
    """

    def __init__(self, options: RunOptions, clock: Clock, logger: Logger, log_dropped: Callable[[], int]) -> None:
        """Builds everything and lets no cycle begin. `log_dropped` returns how many lines of the log are lost.

        Raises ConfigError, AdapterError, StateError, ListenError and Stopping.
        """
        memory.use_one_arena()
        self._options = options
        self._logger = logger
        self._ready = False
        self._failure: StateError | None = None
        """Why this daemon stops by itself."""
        self._requests: SimpleQueue[int | Order | None] = SimpleQueue()
        """Signals, and orders over HTTP. None: it leads or leads no more, or `Outside` has read its origins."""
        self._stop = Stop()
        for known in (*_STOP, signal.SIGHUP):  # first of all, so that a signal during the build is handled afterwards
            signal.signal(known, self._on_signal)
        self.registry = CollectorRegistry()
        """Every metric of this process."""
        settings = self._stop.run_interruptibly(partial(read, options))
        self._web_config = self._stop.run_interruptibly(partial(read_web, options, settings))
        self._state_dir = state_dir = make_state_folder(options, settings)
        self._state = self._stop.run_interruptibly(partial(open_state, settings, state_dir, clock))
        self._clock = clock
        self._started = clock.now()
        self._reporter = Reporter(logger, clock)
        self._metrics = Metrics(self.registry, clock, VERSION)
        self._service = ServiceManager(clock)
        lease = self._state.lease
        self._leadership = None if lease is None else Leadership(lease, clock, logger, lambda: self._requests.put(None))
        self._alone = options.once or options.dry_run
        """Whether this daemon neither takes over nor stands by."""
        self._runtime = Runtime(
            self._state,
            state_dir,
            clock,
            logger,
            self._report,
            self._metrics,
            self._stop,
            self._leadership,
            alone=self._alone,
        )
        self._notifier = Notifier(
            self._state.outbox, clock, logger, self._metrics.notices_sent, socket.gethostname(), self._leads
        )
        builder = Builder(state_dir, clock, logger, self._stop)
        self._outside = Outside(builder, clock, logger, lambda: self._requests.put(None))
        answered, shards = self._metrics.state_answered, self._runtime.shards
        self._upkeep = Upkeep(self._state, self._reporter.state_cut, answered, self._leads, shards, clock, logger)
        self._following = Following(
            options,
            settings,
            self._state,
            self._runtime,
            self._outside,
            self._reporter,
            self._metrics,
            self._notifier,
            self._stop,
            logger,
        )
        self._barrier = Barrier(clock, logger)
        try:
            self._follow_first()
        except BaseException:
            self._runtime.close()
            self._service.close()
            self._leave(ended=True)
            raise
        self._watch(log_dropped)
        ProcessCollector(registry=self.registry)
        collector.freeze()

    def _watch(self, log_dropped: Callable[[], int]) -> None:
        """Show what other rooms count. Of a standby, what the leader shows, too, is left out."""
        watch_log(self.registry, log_dropped)
        watch_shards(self.registry, self._runtime.shards)
        watch_queries(self.registry, self._runtime.asked_alone)
        watch_discovery(self.registry, lambda: self._outside.document() if self._leads() else DiscoveredList())
        watch_grants(self.registry, lambda: self._following.settings if self._leads() else None)
        size = partial(within, _STATE_SECONDS, self._state.archive.size)  # no silent database may hold up /metrics
        watch_state(self.registry, size, self._clock, self._leads)
        if self._leadership is not None:
            watch_leadership(self.registry, self._leadership)

    def _follow_first(self) -> None:
        """Raises AdapterError, Stopping and StateError.

        Alone on its state, a daemon does not start while a shard is late. One that shares it tries again, as later. So
        does any daemon for an adapter whose constructor does not return, and serves the other connections.
        """
        failure = self._following.begin()
        if isinstance(failure, NotBuilt) and not self._options.once:
            return
        if failure is not None and (self._leadership is None or self._alone):
            raise failure

    def run(self) -> bool:
        """Cycles until SIGTERM or SIGINT. Returns whether everything ended; False: something hangs in a thread.

        Raises ListenError; then no cycle has begun.
        """
        try:
            web = self._serve()
        except AutoscalerError:
            self._close()
            raise
        self._begin()
        with suppress(Stopping):
            if not self._stop.asked():
                self._guarded("ticks", self._runtime.shards.start)
            while not self._stop.asked():
                self._turn(web)
        self._service.stopping()
        self._logger.info("stopping")
        self._guarded("outside", self._outside.close)
        self._guarded("web", web.stop)
        ended = self._close()
        if self._failure is not None:
            raise self._failure
        return ended

    def _turn(self, web: "WebServer") -> None:
        """What the main thread does every second, or sooner when it is asked for something. Raises Stopping."""
        request = self._next_request()
        self._guarded("request", partial(self._answer, request, web))
        for part, work in self._parts():
            self._guarded(part, work)
        if self._runtime.shards.alive():
            self._service.progress()

    def _parts(self) -> Sequence[tuple[str, Callable[[], object]]]:
        """Return what is done in each turn. None of it may end the daemon, nor keep the rest from being done."""
        shards = self._runtime.shards
        return (
            ("ticks", shards.keep_up),
            ("clock", shards.follow_clock),
            ("report", lambda: self._reporter.shards_hung(shards.hung())),
            ("lease", self._check_lease),
            ("shards", self._runtime.supervise),
            ("outside", self._follow_outside),
            ("metrics", self._following.count_served),
            ("upkeep", self._upkeep.turn),
            ("notices", self._notifier.turn),
            ("status", self._tell_status),
        )

    def _guarded(self, part: str, work: Callable[[], object]) -> None:
        self._barrier.run(part, work, None)

    def _answer(self, request: int | Order | None, web: "WebServer") -> None:
        if isinstance(request, Order):
            work = partial(self._reload, web) if isinstance(request, Reload) else self._resign
            request.answer.put(self._barrier.run(type(request).__name__.lower(), work, [_BROKEN]))
        elif request == signal.SIGHUP:
            self._reload(web)

    def _follow_outside(self) -> None:
        if kinds := self._outside.turn():
            self._following.follow_outside(kinds)

    def _tell_status(self) -> None:
        """Tell the service manager how things are, and once that the daemon is ready."""
        self._service.status(self._reporter.status(self._runtime.status_line(self._following.settings)))
        if not self._ready and self._runtime.begun():
            self._ready = True
            self._service.ready()
            self._logger.info("ready")

    def once(self) -> tuple[bool, bool]:
        """A single cycle of every autoscaler: (whether nothing failed, whether every cycle ended).

        A signal to stop changes nothing: the cycle is finished, and then it stops anyway.
        """
        self._begin()
        self._notifier.follow(None)  # a single cycle does not wait for a receiver
        self._reporter.log_every_decision(True)
        ended = self._runtime.shards.once()
        self._state.tidy(self._clock.now())
        self._reporter.shards_hung(self._runtime.shards.hung())
        fine = ended and not self._reporter.failed_names
        return fine, self._close() and ended

    def _begin(self) -> None:
        self._logger.info(
            "starting",
            version=VERSION,
            config=str(self._options.config_file),
            autoscalers=len(self._following.settings.autoscalers),
            adapters=self._runtime.adapters,
            dry_run=all(scaler.dry_run for scaler in self._following.settings.autoscalers),
        )

    def _serve(self) -> "WebServer":
        from autoscaler.web.page.routes import pages  # noqa: PLC0415 - a single cycle needs no server
        from autoscaler.web.server import WebServer  # noqa: PLC0415 - as above
        from autoscaler.web.sources import Sources  # noqa: PLC0415 - as above

        sources = Sources(
            state=self._state,
            settings=lambda: self._following.settings,
            clock=self._clock,
            registry=self.registry,
            ready=lambda: self._ready,
            reload=partial(self._order, Reload),
            resign=partial(self._order, Resign),
            status=lambda: self._metrics.health.status(
                self._following.settings,
                self._runtime.shards,
                VERSION,
                self._started,
                lease_failure=None if self._leadership is None else self._leadership.failure,
                state_failure=self._upkeep.failure,
                alone=self._runtime.asked_alone(),
                discovered=self._outside.document(),
                state_folder=str(self._state_dir.absolute()),
            ),
            discovered=self._outside.document,
        )
        listen = self._options.listen or self._following.settings.web.listen_address
        control = self._following.settings.web.control_socket or default_socket(os.environ, self._state_dir)
        web = WebServer(sources, listen, self._web_config, self._logger, pages(sources, self._logger, control), control)
        web.start()
        return web

    def _order(self, kind: type[Order]) -> Sequence[str]:
        """From the HTTP server's threads: have the main thread do something, and wait for what was wrong."""
        request, until = kind(), self._clock.monotonic() + _ORDER_SECONDS
        self._requests.put(request)
        problems = request.wait(lambda: self._stop.asked() or self._clock.monotonic() >= until)
        if problems is None and self._stop.asked():  # nothing is begun any more
            return [str(Stopping())]
        late = f"it has not ended within {_ORDER_SECONDS:.0f} s, and goes on; the log says what comes of it"
        return [late] if problems is None else problems

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - signal's signature
        if number in _STOP:
            self._stop.ask()
        self._requests.put(number)  # safe in a signal handler: SimpleQueue.put is reentrant

    def _next_request(self) -> int | Order | None:
        try:
            return self._requests.get(timeout=_HEARTBEAT_SECONDS)
        except Empty:
            return None

    def _reload(self, web: "WebServer") -> Sequence[str]:
        """Follow the configuration and the web configuration, unless one is wrong. Returns what is wrong.

        Raises Stopping.
        """
        if self._ready:
            self._service.reloading()
        problems = self._following.reload(web.follow)
        if self._ready:
            self._service.ready()
        return problems

    def _resign(self) -> Sequence[str]:
        """Let another daemon lead. Returns why that was not possible."""
        if self._alone:
            return ["a dry run does not stand by; stop it instead"]
        try:
            self._runtime.resign()
        except StateError as error:
            return [str(error)]
        return []

    def _leads(self) -> bool:
        return self._runtime.leads

    def _check_lease(self) -> None:
        if self._leadership is None:
            return
        self._leadership.check()
        if self._alone and not self._leadership.leads and self._leadership.leader is not None:
            self._failure = StateError(f"{self._leadership.leader} leads now, and a dry run does not stand by")
            self._stop.ask()

    def _close(self) -> bool:
        ended = self._runtime.close() and not self._stop.left_behind()
        self._leave(ended=ended)
        self._service.close()
        self._logger.info("stopped", cycles_ended=ended)
        return ended

    def _leave(self, *, ended: bool) -> None:
        """Let other daemons have the state, apart from what a call that hangs still uses.

        A database that is gone must not turn SIGTERM into a failure, nor one that is silent keep the process.
        """

        def leave() -> None:
            if self._leadership is not None:
                self._leadership.end(hanging=not ended)
            if ended:
                self._state.close()

        try:
            within(_STATE_SECONDS, leave)
        except StateError as failure:
            self._logger.error("state_failed", error=str(failure))  # noqa: TRY400 - an expected failure, not a bug

    def _report(self, batch: CycleResult) -> None:
        self._metrics.cycle_ended(batch)
        self._reporter.cycle_ended(batch)
