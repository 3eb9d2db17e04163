"""Concurrent execution of rollouts, without waiting for each other's tools."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from operator import itemgetter
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Measures, Rollout, Stream, Streams
from handaxe.core.records import Trajectory
from handaxe.core.requests import Attempt, Completion, Measure, Work
from handaxe.rollouts.driver.aux_engines import NO_AUX_POLICIES
from handaxe.rollouts.driver.batch_stream import BatchStream
from handaxe.rollouts.driver.executor import Answer, Executor
from handaxe.rollouts.driver.garbage_collection import fewer_collections
from handaxe.rollouts.driver.live_plans import LiveAttempt, LivePlan, Segment
from handaxe.rollouts.driver.scheduler import Scheduler
from handaxe.rollouts.driver.several_streams import SeveralStreams
from handaxe.rollouts.driver.workers import Workers

__all__ = ["Driver", "Finished", "run"]

PAUSE, LONG = 0.002, 0.5
"""Maximum wait in seconds for a remote stream: with other work in flight, and without."""


class Finished(NamedTuple):
    """Finished rollout with its trajectories."""

    attempt: Attempt
    trajectories: list[Trajectory]


def run(
    attempts: Sequence[Attempt],
    rollout: Rollout,
    engine: Engine,
    *,
    workers: int | Executor = 8,
    lockstep: bool = False,
    progress: Callable[[int], None] | None = None,
    aux_engines: Mapping[str, Engine] = NO_AUX_POLICIES,
) -> list[list[Trajectory]]:
    """Play every rollout to its end.

    Args:
        attempts: rollouts to play, with distinct ids.
        rollout: the strategy, `core.protocols.Rollout`.
        engine: samples.
        workers: threads for environments, or an Executor, which is closed at the end.
        lockstep: see `Driver`.
        progress: called with the number of finished rollouts at every change.
        aux_engines: see `Driver`.

    Returns:
        For each attempt its trajectories, in order. An exception inside an environment ends its rollout as infra_error;
        an exception of the engine closes all rollouts and is raised.
    """
    results: dict[str, list[Trajectory]] = {}
    made = Driver(engine, workers=workers, lockstep=lockstep, aux_engines=aux_engines)
    with closing(made) as driver, fewer_collections(len(attempts)):
        for attempt in attempts:
            driver.add(attempt, rollout)
        while driver.live:
            for attempt, trajectories in driver.advance():
                results[attempt.id] = trajectories
            if progress:
                progress(len(results))
    return [results[attempt.id] for attempt in attempts]


class Driver:
    """Advances rollout plans: each continues when its reply arrives, independent of all others.

    All plans run in the caller's thread. Samples go to the engine's stream, or in batches to an engine without one;
    environment work goes to the executor. The tokens are independent of the number of workers and of tool latency,
    except where rounding tips a draw: latency decides which rows an engine computes together, so log-probs may differ
    in rounding.

    An exception inside an environment is an infra_error of its rollout; an exception of a Work is raised in its plan.
    An exception of the engine, or of a plan, closes everything and is raised.

    Args:
        engine: samples. Its weights may change between two calls of `advance`.
        workers: threads for environments, or an Executor, which is closed with the driver.
        lockstep: rounds instead: all pending turns are one batch, in order of `add`, then all environments reply. The
            result is bitwise independent of tool latency, unless the plans read it (`Budget(seconds=)`); each round
            takes as long as its slowest reply. Keys and values are kept while any rollout is live.
        aux_engines: engines of auxiliary policies, by name.

    Example:
        driver.add(attempt, linear()); while driver.live: for attempt, trajectories in driver.advance(): ...

    Paper: VerlTool, arXiv:2509.01055, asynchronous rollouts: each trajectory meets tools at its own pace.
    Differs: one event loop over generators instead of coroutines and a tool server; a decoder slot is free as soon as a
    turn ends, and a tool holds none.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        workers: int | Executor = 8,
        lockstep: bool = False,
        aux_engines: Mapping[str, Engine] = NO_AUX_POLICIES,
    ):
        executor: Executor = Workers(workers) if isinstance(workers, int) else workers
        self._engine, self._aux_engines = engine, aux_engines
        self._scheduler = Scheduler(self._new_stream(), executor, queue=lockstep)
        self._lockstep = lockstep
        self._answered: dict[int, Answer] = {}  # in lockstep: answers that arrived early
        self._added = 0

    @property
    def live(self) -> int:
        """Number of unfinished rollouts."""
        return len(self._scheduler.live)

    @property
    def held(self) -> int:
        """Number of rollouts without budget in the current segment, held until the next."""
        some = {plan.live.order: plan.live for plan in self._scheduler.held.values()}
        return sum(self._scheduler.is_held(live) for live in some.values())

    def tokens(self, id: str) -> int:
        """Tokens sampled so far by a live rollout, without turns in progress."""
        if id not in self._scheduler.live:
            raise InputError(f"there is no live attempt {id!r}")
        return self._scheduler.live[id].tokens

    def add(self, attempt: Attempt, rollout: Rollout) -> None:
        """Add a rollout; it begins with the next `advance`.

        Raises:
            InputError: a live rollout has the same id, or the rollout names an engine that is missing.
        """
        if attempt.id in self._scheduler.live:
            raise InputError(f"two live attempts are called {attempt.id!r}: give each a unique id")
        if missing := ({*attempt.aux_policies, attempt.by} - {"", *self._aux_engines}):
            raise InputError(f"attempt {attempt.id!r} asks {sorted(missing)}, but no engine of that name was given")
        plan = rollout(attempt)
        live = self._scheduler.live[attempt.id] = LiveAttempt(attempt, self._added)
        self._scheduler.new.append(LivePlan(live, plan, (self._added,)))
        self._added += 1

    def advance(self) -> list[Finished]:
        """Advance until one or more rollouts finish; [] if none is live or all are held."""
        scheduler = self._scheduler
        with self._closed_by_errors(), fewer_collections(len(scheduler.live)):
            while not scheduler.finished and scheduler.busy:
                self._round()
        over = [Finished(live.attempt, trajectories) for live, trajectories in scheduler.finished.values()]
        scheduler.finished.clear()
        if over:
            self._forget_prefixes()
        return over

    def stop(self, ids: Collection[str]) -> list[Finished]:
        """End rollouts early by raising `Stopped` in their plans; returns their trajectories in order of `ids`.

        A running Work is finished first, then cleanup; other rollouts continue meanwhile, except in lockstep. Unknown
        ids are ignored. A plan that does not catch `Stopped` returns nothing.
        """
        scheduler = self._scheduler
        chosen = [scheduler.live[id] for id in dict.fromkeys(ids) if id in scheduler.live]
        with self._closed_by_errors():
            for live in chosen:
                live.stopping = True
                for plan in list(live.plans.values()):
                    scheduler.interrupt(plan)
            for ticket in self._answered.keys() - scheduler.executing.keys():
                del self._answered[ticket]
            while any(live.plans for live in chosen):
                self._finish_work() if self._lockstep else self._round()
        over = [scheduler.finished.pop(live.order) for live in chosen]
        if over:
            self._forget_prefixes()
        return [Finished(live.attempt, trajectories) for live, trajectories in over]

    def segment(self, *, tokens: int | None, calls: int | None) -> None:
        """Begin a segment: every rollout may add `tokens` and `calls`; then it is held, even within a turn.

        Held rollouts continue first, in order of `add`. None is unlimited. A turn with more calls than the segment has
        left waits for the next one, and is executed whole if it is the first there. Each spawned part may write as many
        tokens as its rollout has left at the part's start.

        Raises:
            InputError: a limit below 1.

        Paper: AgentMath, arXiv:2512.20745, agentic partial rollout.
        Unconfirmed: the paper's limits of a segment.
        """
        if any(limit is not None and limit < 1 for limit in (tokens, calls)):
            raise InputError(f"a segment of {tokens} tokens and {calls} calls never ends an attempt; give 1 or more")
        scheduler = self._scheduler
        with self._closed_by_errors():
            bounded = tokens is not None or scheduler.segment.tokens is not None
            writing = sorted(scheduler.sampling.values(), key=_key) if bounded else []
            for plan in writing:
                scheduler.take_out(plan)
            scheduler.segment = Segment(tokens, calls)
            for live in scheduler.live.values():
                live.added = live.called = 0
            held = sorted(scheduler.held.values(), key=_key)
            scheduler.held.clear()
            for plan in [*held, *writing]:
                scheduler.dispatch(plan)

    def close(self) -> None:
        """Close all plans, the executor and the stream. Further calls do nothing."""
        plans = self._scheduler.clear()
        self._answered.clear()
        with ExitStack() as stack:  # closes in reverse order, despite failures
            for plan in plans:
                stack.callback(plan.generator.close)
            stack.callback(self._scheduler.stream.close)
            stack.callback(self._scheduler.executor.close)

    @contextmanager
    def _closed_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            try:
                self.close()
            except Exception as error:
                warnings.warn(f"closing the rollouts failed: {error!r}", stacklevel=3)
            raise

    def _measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        if not isinstance(self._engine, Measures):
            who, names = (
                type(self._engine).__name__,
                ", ".join(sorted({name for one in requests for name in one.names})),
            )
            raise InputError(f"this rollout measures {names}, which {who} cannot: use an engine that has measure()")
        return self._engine.measure(requests)

    def _new_stream(self) -> Stream:
        policy = _stream(self._engine)
        return (
            SeveralStreams({"": policy, **{n: _stream(e) for n, e in self._aux_engines.items()}})
            if self._aux_engines
            else policy
        )

    def _forget_prefixes(self) -> None:
        """Clear the prefix cache after the last rollout, in lockstep: later samples are then bitwise equal to a new
        driver's, such as in a resumed run.
        """
        if self._lockstep and not self._scheduler.live:
            self._scheduler.stream.close()
            self._scheduler.stream = self._new_stream()

    def _round(self) -> None:
        scheduler = self._scheduler
        new, scheduler.new = scheduler.new, []
        for plan in new:
            scheduler.resume(plan)
        if scheduler.measuring:
            scheduler.measured(self._measure)
            return
        if self._lockstep:
            self._lockstep_round()
            return
        answers = scheduler.executor.ready(0.0) if scheduler.executing else []
        if not answers and scheduler.executing and not scheduler.sampling:
            answers = scheduler.executor.ready(None)
        for ticket, answer in answers:
            scheduler.executed(ticket, answer)
        if scheduler.sampling:
            for ticket, completion in scheduler.stream.poll(PAUSE if scheduler.executing else LONG):
                scheduler.sampled(ticket, completion)

    def _lockstep_round(self) -> None:
        """Finish all work, sample one batch of turns, then deliver the earlier replies."""
        scheduler = self._scheduler
        self._finish_work()
        executing = set(scheduler.executing)
        queued, scheduler.queued = sorted(scheduler.queued, key=_key), []
        for plan in queued:
            scheduler.submit(plan)
        completions: list[tuple[int, Completion]] = []
        while len(scheduler.stream):
            completions += scheduler.stream.poll(LONG)
        for ticket, completion in sorted(completions, key=itemgetter(0)):
            scheduler.sampled(ticket, completion)
        self._resume_in_order(executing)

    def _finish_work(self) -> None:
        """Execute Work, in lockstep, until no plan waits for any."""
        executing = self._scheduler.executing
        while working := {ticket for ticket, plan in executing.items() if isinstance(plan.request, Work)}:
            self._resume_in_order(working)

    def _resume_in_order(self, tickets: set[int]) -> None:
        """Wait for these answers and deliver them in the order of the plans."""
        scheduler = self._scheduler
        while not tickets <= self._answered.keys():
            self._answered.update(scheduler.executor.ready(None))
        for ticket in sorted(tickets, key=lambda ticket: scheduler.executing[ticket].key):
            scheduler.executed(ticket, self._answered.pop(ticket))


def _stream(engine: Engine) -> Stream:
    return engine.stream() if isinstance(engine, Streams) else BatchStream(engine)


def _key(plan: LivePlan) -> tuple[int, ...]:
    return plan.key
