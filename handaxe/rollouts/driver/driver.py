"""Runs many rollouts at once; none of them waits for another's tool."""

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
"""Seconds to wait for a stream that samples elsewhere: while a tool or other work is under way, and otherwise."""


class Finished(NamedTuple):
    """An attempt that is over, and what its plan returned."""

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
    """Play every attempt to its end.

    Args:
        attempts: what to play; no two of one id.
        rollout: the strategy, `slots.Rollout`.
        engine: samples.
        workers: threads for environments, or an Executor, which is closed at the end.
        lockstep: see `Driver`.
        progress: called with the number of attempts that are over, whenever it changes.
        aux_engines: see `Driver`.

    Returns:
        For each attempt the trajectories it yielded, in order. An exception inside an environment ends its own
        attempt as infra_error; an exception of the engine closes every attempt and is raised.
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
    """Advances rollout plans: each goes on as soon as its answer is there, and none waits for another.

    All plans run in the caller's thread. What they sample goes to the engine's stream, or in batches to an engine that
    has none; what they let environments do goes to the executor. The same tokens come out whatever the number of
    workers and in whichever order the tools answer, unless rounding tips a draw: which rows an engine computes together
    depends on it, so log-probs may differ in rounding.

    An exception inside an environment is its attempt's infra_error; one of a Work is raised in its plan. One of the
    engine, or of a plan, closes everything and is raised.

    Args:
        engine: samples. Its weights may change between two calls of `advance`.
        workers: threads for environments, or an Executor, which is closed with the driver.
        lockstep: rounds instead: all turns that wait to be sampled are one batch, in order of `add`, then all
            environments answer. So nothing depends on how long a tool takes, to the last bit, unless the plans do
            (`Budget(seconds=)`); and all wait for the slowest. Keys and values are kept as long as any attempt is live.
        aux_engines: auxiliary engines that rollouts and environments may ask, by name.

    Example:
        driver.add(attempt, linear()); while driver.live: for attempt, trajectories in driver.advance(): ...

    Paper: VerlTool, arXiv:2509.01055, asynchronous rollouts: trajectories meet tools each at its own pace.
    Differs: one event loop over generators in place of coroutines and a tool server; a place in the decoder is free as
    soon as a turn ends, and a tool holds none.
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
        self._answered: dict[int, Answer] = {}  # in lockstep: answers that have arrived before it is their turn
        self._added = 0

    @property
    def live(self) -> int:
        """Attempts that are not over."""
        return len(self._scheduler.live)

    @property
    def held(self) -> int:
        """Those of them that have used up their segment and wait for the next."""
        some = {plan.live.order: plan.live for plan in self._scheduler.held.values()}
        return sum(self._scheduler.is_held(live) for live in some.values())

    def tokens(self, id: str) -> int:
        """Tokens sampled so far by a live attempt, without those of turns that are being written."""
        if id not in self._scheduler.live:
            raise InputError(f"there is no live attempt {id!r}")
        return self._scheduler.live[id].tokens

    def add(self, attempt: Attempt, rollout: Rollout) -> None:
        """Take up an attempt; it begins with the next `advance`.

        Raises:
            InputError: one of its id is live, or it may ask an engine that is not there.
        """
        if attempt.id in self._scheduler.live:
            raise InputError(f"two live attempts are called {attempt.id!r}: give each an id of its own")
        if missing := ({*attempt.aux_policies, attempt.by} - {"", *self._aux_engines}):
            raise InputError(f"attempt {attempt.id!r} asks {sorted(missing)}, but no engine of that name was given")
        plan = rollout(attempt)
        live = self._scheduler.live[attempt.id] = LiveAttempt(attempt, self._added)
        self._scheduler.new.append(LivePlan(live, plan, (self._added,)))
        self._added += 1

    def advance(self) -> list[Finished]:
        """Go on until an attempt is over, or several at once; [] when none is live, or all are held."""
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
        """End attempts early: `Stopped` is raised in their plans; what they return, in order of `ids`.

        A Work that is under way is finished first, and so is cleaning up; meanwhile the others go on, except in
        lockstep. Ids that are not live are passed over. A plan that does not catch `Stopped` returns nothing.
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
        """Begin a segment: from now on every attempt may add `tokens` and `calls`; then it is held, also within a turn.

        Those held so far go on first, in order of `add`. None is no limit. A turn that makes more calls than are left
        waits for the next segment, and is carried out whole when it is the first there. Parts that an attempt spawned
        may each write as much as it has left when they begin to.

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
        """Close every plan, the executor and the stream. Nothing is left; called twice, it does nothing."""
        plans = self._scheduler.clear()
        self._answered.clear()
        with ExitStack() as stack:  # all of it, even when some of it fails: the last first
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
        """In lockstep keep nothing beyond the last attempt: what is sampled next has the bits of a new driver, such as
        that of a run resumed here."""
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
        """Work until there is none, one batch of turns, then the replies that were due before it."""
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
        """Carry out Work, in lockstep, until no plan waits for any."""
        executing = self._scheduler.executing
        while working := {ticket for ticket, plan in executing.items() if isinstance(plan.request, Work)}:
            self._resume_in_order(working)

    def _resume_in_order(self, tickets: set[int]) -> None:
        """Wait for these answers and hand them over in the order of the plans."""
        scheduler = self._scheduler
        while not tickets <= self._answered.keys():
            self._answered.update(scheduler.executor.ready(None))
        for ticket in sorted(tickets, key=lambda ticket: scheduler.executing[ticket].key):
            scheduler.executed(ticket, self._answered.pop(ticket))


def _stream(engine: Engine) -> Stream:
    return engine.stream() if isinstance(engine, Streams) else BatchStream(engine)


def _key(plan: LivePlan) -> tuple[int, ...]:
    return plan.key
