"""Reward and features of groups as they finish, while the tools of others are still at work."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf

from handaxe.core.endings import Treatment
from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import Credit, Engine, HiddenMeasure, Reward, RolloutPlan, Stateful
from handaxe.core.records import EndingKind, Rated
from handaxe.core.requests import Work
from handaxe.training.loop.group_play import Tried
from handaxe.training.loop.player import Placed, Player
from handaxe.training.loop.rate import Scored, annotate, credit_all, reward_all
from handaxe.training.loop.step_metrics import Clock
from handaxe.training.loop.transfer_queue import TransferQueue

__all__ = ["Streaming"]


class Streaming:
    """One round's way from played groups to rated ones; a row of its queue is a group.

        played --reward--> judged --features--> measured --credit, all at once and in order--> rated

    The result is that of doing each stage for the whole round at its end. A group is rewarded and measured on its own;
    a reward that keeps state sees the groups in the order in which they were launched, whatever the order in which
    they finish; so does credit, which may keep state or look across groups. What a reward raises is raised here: of
    the groups that it fails on, for the one launched first.

    Args:
        reward, treatment, retries: see `reward_all`.
        engine, features: see `annotate`.
        beside: a player that has the reward called in a thread of its workers, for one group at a time, while it plays
            on; None calls it here.
        clock: counts the phases reward, which is beside only the wait for it in the end, and credit.

    Example:
        stream = Streaming(...); stream(placed) for each group that finished; rated = stream.rate(credit)
    """

    def __init__(
        self,
        reward: Reward,
        engine: Engine,
        features: Sequence[str | HiddenMeasure],
        *,
        beside: Player | None,
        treatment: Mapping[EndingKind, Treatment],
        retries: int,
        clock: Clock,
    ):
        self._engine = engine
        self._features = features
        self._beside = beside
        self._clock = clock
        self._score = reward
        self._treatment = treatment
        self._retries = retries
        self._in_order = isinstance(reward, Stateful)
        self._queue = TransferQueue(("played", "judged", "measured"))
        self._played: dict[int, Tried] = {}
        self._rewarding = False
        self._failed: float = inf  # the first place where the reward is known to fail

    @property
    def tried(self) -> list[Tried]:
        """The groups so far, in the order of their launch."""
        return [self._played[place] for place in sorted(self._played)]

    def __call__(self, placed: Placed) -> None:
        """Take a group that finished, and do whatever can be done now."""
        place, one = placed
        self._queue.add(range(len(self._queue), place + 1))
        self._played[place] = one
        self._queue.put("played", {place: one})
        self._reward()
        self._measure(in_order=True)

    def rate(self, credit: Credit) -> list[Rated]:
        """Finish what is left, and rate the groups that could be scored."""
        self._in_order = False
        self._reward()
        with self._clock("reward"):
            if self._beside is not None:
                self._beside.wait()
        self._measure(in_order=False)
        measured: list[Scored] = []
        while rows := self._queue.get("credit", ["measured"], 1):
            measured += rows[0].cells["measured"]
        with self._clock("credit"):
            return credit_all(measured, credit)

    def _reward(self) -> None:
        """Reward what is there, or see to it that it is."""
        if self._beside is None:
            with self._clock("reward"):
                for place, one in self._due():
                    self._note(place, self._judge(one))
        elif not self._rewarding:
            self._rewarding = True
            self._beside.beside(self._rewards())

    def _rewards(self) -> RolloutPlan:
        for place, one in self._due():
            try:
                judged = yield Work(partial(self._judge, one))
            except Exception as error:  # of its thread
                judged = HandaxeError(f"the reward of task {one.group.task.id!r} did not end: {error}")
                judged.__cause__ = error
            self._note(place, judged)
        self._rewarding = False
        return []

    def _due(self) -> Iterator[tuple[int, Tried]]:
        """What is to be rewarded next, as long as there is something; nothing that was launched after a failure."""
        while rows := self._queue.get("reward", ["played"], 1, in_order=self._in_order):
            if rows[0].place < self._failed:
                yield rows[0].place, rows[0].cells["played"]

    def _judge(self, one: Tried) -> list[Scored] | Exception:
        try:
            return reward_all([one], self._score, treatment=self._treatment, retries=self._retries)
        except Exception as error:
            return error

    def _note(self, place: int, judged: list[Scored] | Exception) -> None:
        if isinstance(judged, Exception):
            self._failed = place
        self._queue.put("judged", {place: judged})

    def _measure(self, *, in_order: bool) -> None:
        """Raise what a reward raised, once all before it were rewarded; measure the groups that are rewarded."""
        while rows := self._queue.get("errors", ["judged"], 1, in_order=in_order):
            if isinstance(error := rows[0].cells["judged"], Exception):
                raise error
        while rows := self._queue.get("features", ["judged"], 1):
            ((place, cells),) = rows
            if not isinstance(scored := cells["judged"], Exception):
                with self._clock("credit"):
                    annotate(scored, self._engine, self._features)
                self._queue.put("measured", {place: scored})
