"""Synchronous rounds over several plays, for strategies with decisions between turns."""

from collections.abc import Callable, Collection, Generator
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Bounded, RolloutPlan
from handaxe.core.records import Ending, Trajectory
from handaxe.core.requests import Spawn, Stopped
from handaxe.rollouts.play import Play, Request

__all__ = ["Rounds"]

TakeTurn = Callable[[Play], Generator[Request, Any, Ending | None]]


class Rounds:
    """Plays of one rollout in rounds: in each, every unfinished play takes one turn, all concurrently.

        open(p)     p  [open]
        next()      p  [turn 0]                 a round ends with the reply to the slowest turn
        add(q)
        next()      p  [turn 1]   q [open, turn 2, ...]

    Between two rounds every play is finished or between two turns, so each can be forked, and a strategy's decisions
    depend on the turns and not on tool latency. Plays are numbered in order of addition.

    All plays keep their environments open between rounds, so all are open at the same time.

    Args:
        turn: plays one turn and returns the ending, or None: `Play.turn`, or a wrapper of it.

    Example:
        yield from rounds.open(play); rounds.add(fork(play, place, id="t/0/1", seed=7)); yield from rounds.next()

    Idea: a barrier after every turn makes concurrent plays comparable, and the result reproducible.
    """

    def __init__(self, turn: TakeTurn = Play.turn):
        self._turn = turn
        self._lanes: list[_Lane] = []

    @property
    def plays(self) -> list[Play]:
        """All plays, in order of addition."""
        return [lane.play for lane in self._lanes]

    @property
    def active(self) -> list[Play]:
        """Unfinished plays."""
        return [lane.play for lane in self._lanes if lane.trajectory is None]

    @property
    def trajectories(self) -> list[Trajectory]:
        """Trajectories of finished plays, in order."""
        return [lane.trajectory for lane in self._lanes if lane.trajectory is not None]

    def open(self, play: Play) -> Generator[Request, Any, None]:
        """Add a play and open the environment, for forks at the very beginning.

        Raises:
            InputError: the factory limits open environments (`core.protocols.Bounded`), so plays that wait for each
                other's turns could deadlock.
        """
        if isinstance(play.attempt.env, Bounded):
            raise InputError(
                f"{play.attempt.id!r} is played in rounds with others whose environments are all open, but only "
                f"{play.attempt.env.most} of these may be open at a time: choose a rollout without rounds"
            )
        self._lanes.append(_Lane(play, self._turn, pause=True))
        yield from self.next()

    def add(self, play: Play) -> None:
        """Add a play. Its environment opens in the next round, with the first turn."""
        self._lanes.append(_Lane(play, self._turn))

    def next(self, only: Collection[Play] | None = None) -> Generator[Request, Any, None]:
        """Play a round, optionally with some of the plays; all others wait between two turns.

        Raises Stopped if the rollout is no longer needed: then call `stop`.
        """
        lanes = [lane for lane in self._lanes if lane.trajectory is None and (only is None or lane.play in only)]
        yield Spawn(tuple(lane.go_on() for lane in lanes), tuple(lane.play.attempt.id for lane in lanes))

    def drop(self, play: Play) -> Generator[Request, Any, None]:
        """End one play as stopped."""
        for lane in self._lanes:
            if lane.play is play:
                yield from lane.stop()

    def stop(self) -> Generator[Request, Any, None]:
        """End all unfinished plays as stopped. A play that has not begun leaves no trajectory."""
        for lane in self._lanes:
            yield from lane.stop()

    def close(self) -> None:
        """Close all environments at once, in every case."""
        for lane in self._lanes:
            lane.plan.close()


class _Lane:
    """Play with plan and trajectory; the plan yields PAUSE between turns."""

    def __init__(self, play: Play, turn: TakeTurn, *, pause: bool = False):
        self.play = play
        self.plan = play.run(self._turns(turn, pause))
        self.trajectory: Trajectory | None = None
        self._begun = False

    def _turns(self, turn: TakeTurn, pause: bool) -> Generator[Any, Any, Ending]:
        if pause:
            yield PAUSE
        while (ending := (yield from turn(self.play))) is None:
            yield PAUSE
        return ending

    def stop(self) -> Generator[Request, Any, None]:
        if self._begun and self.trajectory is None:
            yield from self.go_on(Stopped())

    def go_on(self, error: Exception | None = None) -> RolloutPlan:
        """Relay the play's requests until the next pause, or the end."""
        answer: Any = None
        self._begun = True
        while True:
            try:
                request = self.plan.send(answer) if error is None else self.plan.throw(error)
            except StopIteration as over:
                self.trajectory = over.value
                return [over.value]
            if request is PAUSE:
                return []
            answer = error = None
            try:
                answer = yield request
            except Exception as raised:
                error = raised


PAUSE: Any = object()
