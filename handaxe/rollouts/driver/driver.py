"""Runs many rollouts at once, none of which waits for another's tool."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from operator import itemgetter
from typing import NamedTuple

from handaxe.errors import InputError
from handaxe.exchange import Attempt, Completion, Work
from handaxe.records import Trajectory
from handaxe.rollouts.driver.batch_stream import Batches
from handaxe.rollouts.driver.executor import Answer, Executor
from handaxe.rollouts.driver.garbage_collection import fewer_collections
from handaxe.rollouts.driver.live_plans import Live, Segment, Strand
from handaxe.rollouts.driver.scheduler import Floor
from handaxe.rollouts.driver.workers import Workers
from handaxe.slots import Engine, Rollout, Stream, Streams

__all__ = ["Driver", "Finished", "run"]

PAUSE, LONG = 0.002, 0.5
"""Seconds to wait for a stream that samples elsewhere: while somebody acts, and while nobody does."""


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
) -> list[list[Trajectory]]:
    """Play every attempt to its end.

    Args:
        attempts: what to play; no two of one id.
        rollout: the strategy, `slots.Rollout`.
        engine: who samples.
        workers: threads for environments, or an Executor, which is closed at the end.
        lockstep: see `Driver`.
        progress: called with the number of attempts that are over, whenever it changes.

    Returns:
        For each attempt the trajectories it yielded, in order. An exception inside an environment ends its own
        attempt as infra_error; an exception of the engine closes every attempt and is raised.
    """
    results: dict[str, list[Trajectory]] = {}
    with closing(Driver(engine, workers=workers, lockstep=lockstep)) as driver, fewer_collections(len(attempts)):
        for attempt in attempts:
            driver.add(attempt, rollout)
        while driver.live:
            for attempt, trajectories in driver.advance():
                results[attempt.id] = trajectories
            if progress:
                progress(len(results))
    return [results[attempt.id] for attempt in attempts]


class Driver:
    """Advances rollout plans: whoever has an answer goes on, and nobody waits for anybody else.

    All plans run in the caller's thread. What they sample goes to the engine's stream, or in batches to an engine that
    has none; what they let environments do goes to the executor. The same tokens come out whatever the number of
    workers and in whichever order the tools answer, unless rounding tips a draw: which rows an engine computes together
    depends on it, so log-probs may differ in rounding.

    An exception inside an environment is its attempt's infra_error; one of a Work is raised in its plan. One of the
    engine, or of a plan, closes everything and is raised.

    Args:
        engine: who samples. Its weights may change between two calls of `advance`.
        workers: threads for environments, or an Executor, which is closed with the driver.
        lockstep: rounds instead: all who speak are sampled in one batch, in order of `add`, then all who act go on. So
            nothing depends on how long a tool takes, to the last bit, unless the plans do (`Budget(seconds=)`); and
            everybody waits for the slowest. Keys and values are kept as long as any attempt is live.

    Example:
        driver.add(attempt, linear()); while driver.live: for attempt, trajectories in driver.advance(): ...

    Paper: VerlTool, arXiv:2509.01055, asynchronous rollouts: trajectories meet tools each at its own pace.
    Differs: one event loop over generators in place of coroutines and a tool server; a place in the decoder is free as
    soon as a turn ends, and a tool holds none.
    """

    def __init__(self, engine: Engine, *, workers: int | Executor = 8, lockstep: bool = False):
        hands: Executor = Workers(workers) if isinstance(workers, int) else workers
        self._engine = engine
        self._floor = Floor(self._new_stream(), hands, queue=lockstep)
        self._lockstep = lockstep
        self._answered: dict[int, Answer] = {}  # in lockstep: answers that nobody has heard yet
        self._added = 0

    @property
    def live(self) -> int:
        """Attempts that are not over."""
        return len(self._floor.live)

    @property
    def held(self) -> int:
        """Those of them that have used up their segment and wait for the next."""
        some = {part.live.order: part.live for part in self._floor.held.values()}
        return sum(self._floor.stuck(live) for live in some.values())

    def tokens(self, id: str) -> int:
        """Tokens sampled so far by a live attempt, without those of turns that are being written."""
        if id not in self._floor.live:
            raise InputError(f"there is no live attempt {id!r}")
        return self._floor.live[id].tokens

    def add(self, attempt: Attempt, rollout: Rollout) -> None:
        """Take up an attempt; it begins with the next `advance`. Raises InputError when one of its id is live."""
        if attempt.id in self._floor.live:
            raise InputError(f"two live attempts are called {attempt.id!r}: give each an id of its own")
        plan = rollout(attempt)
        live = self._floor.live[attempt.id] = Live(attempt, self._added)
        self._floor.new.append(Strand(live, plan, (self._added,)))
        self._added += 1

    def advance(self) -> list[Finished]:
        """Go on until an attempt is over, or several at once; [] when none is live, or all are held."""
        floor = self._floor
        with self._closed_by_errors(), fewer_collections(len(floor.live)):
            while not floor.over and floor.moving:
                self._round()
        over = [Finished(live.attempt, trajectories) for live, trajectories in floor.over.values()]
        floor.over.clear()
        if over:
            self._empty()
        return over

    def stop(self, ids: Collection[str]) -> list[Finished]:
        """End attempts early: `Stopped` is raised in their plans; what they return, in order of `ids`.

        A Work that is under way is finished first, and whatever cleans up too; meanwhile the others go on, except in
        lockstep. Ids that are not live are passed over. A plan that does not catch `Stopped` returns nothing.
        """
        floor = self._floor
        chosen = [floor.live[id] for id in dict.fromkeys(ids) if id in floor.live]
        with self._closed_by_errors():
            for live in chosen:
                live.stopping = True
                for part in list(live.parts.values()):
                    floor.interrupt(part)
            for ticket in self._answered.keys() - floor.acting.keys():
                del self._answered[ticket]
            while any(live.parts for live in chosen):
                self._settle() if self._lockstep else self._round()
        over = [floor.over.pop(live.order) for live in chosen]
        if over:
            self._empty()
        return [Finished(live.attempt, trajectories) for live, trajectories in over]

    def segment(self, *, tokens: int | None, calls: int | None) -> None:
        """Begin a segment: from now on every attempt may add `tokens` and `calls`; then it is held, also within a turn.

        Those held so far go on first, in order of `add`. None is no limit. A turn that makes more calls than are left
        waits for the next segment, and is carried out whole when it is the first there. Parts that an attempt spawned
        may each write as much as it has left when they begin to.

        Raises:
            InputError: a limit below 1.

        Paper: AgentMath, arXiv:2512.20745, agentic partial rollout.
        """
        if any(limit is not None and limit < 1 for limit in (tokens, calls)):
            raise InputError(f"a segment of {tokens} tokens and {calls} calls never ends an attempt; give 1 or more")
        floor = self._floor
        with self._closed_by_errors():
            bounded = tokens is not None or floor.segment.tokens is not None
            writing = sorted(floor.speaking.values(), key=_key) if bounded else []
            for part in writing:
                floor.silence(part)
            floor.segment = Segment(tokens, calls)
            for live in floor.live.values():
                live.added = live.called = 0
            held = sorted(floor.held.values(), key=_key)
            floor.held.clear()
            for part in [*held, *writing]:
                floor.dispatch(part)

    def close(self) -> None:
        """Close every plan, the executor and the stream. Nothing is left; called twice, it does nothing."""
        parts = self._floor.clear()
        self._answered.clear()
        with ExitStack() as stack:  # all of it, even when some of it fails: the last first
            for part in parts:
                stack.callback(part.plan.close)
            stack.callback(self._floor.stream.close)
            stack.callback(self._floor.hands.close)

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

    def _new_stream(self) -> Stream:
        return self._engine.stream() if isinstance(self._engine, Streams) else Batches(self._engine)

    def _empty(self) -> None:
        """In lockstep keep nothing beyond the last attempt: what is sampled next has the bits of a new driver, such as
        that of a run resumed here."""
        if self._lockstep and not self._floor.live:
            self._floor.stream.close()
            self._floor.stream = self._new_stream()

    def _round(self) -> None:
        floor = self._floor
        new, floor.new = floor.new, []
        for part in new:
            floor.go(part)
        if self._lockstep:
            self._step()
            return
        heard = floor.hands.ready(0.0) if floor.acting else []
        if not heard and floor.acting and not floor.speaking:
            heard = floor.hands.ready(None)
        for ticket, answer in heard:
            floor.hear(ticket, answer)
        if floor.speaking:
            for ticket, completion in floor.stream.poll(PAUSE if floor.acting else LONG):
                floor.say(ticket, completion)

    def _step(self) -> None:
        """One round in lockstep: Work until there is none, one batch, and who waited for a reply before it."""
        floor = self._floor
        self._settle()
        acting = set(floor.acting)
        queued, floor.queued = sorted(floor.queued, key=_key), []
        for part in queued:
            floor.submit(part)
        said: list[tuple[int, Completion]] = []
        while len(floor.stream):
            said += floor.stream.poll(LONG)
        for ticket, completion in sorted(said, key=itemgetter(0)):
            floor.say(ticket, completion)
        self._collect(acting)

    def _settle(self) -> None:
        acting = self._floor.acting
        while working := {ticket for ticket, part in acting.items() if isinstance(part.request, Work)}:
            self._collect(working)

    def _collect(self, tickets: set[int]) -> None:
        """Wait for these answers and hand them over in the order of the plans."""
        floor = self._floor
        while not tickets <= self._answered.keys():
            self._answered.update(floor.hands.ready(None))
        for ticket in sorted(tickets, key=lambda ticket: floor.acting[ticket].key):
            floor.hear(ticket, self._answered.pop(ticket))


def _key(part: Strand) -> tuple[int, ...]:
    return part.key
