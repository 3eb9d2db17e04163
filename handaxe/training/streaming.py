"""Reward and features of groups as they finish, while the tools of others are still at work."""

from collections.abc import Mapping
from collections.abc import Sequence as List

from handaxe.records import EndingKind, Rated
from handaxe.slots import Credit, Engine, Reward, Stateful
from handaxe.training.endings import Treatment
from handaxe.training.generate import Placed
from handaxe.training.group_play import Tried
from handaxe.training.measure import Clock
from handaxe.training.rate import Scored, annotate, credit_all, reward_all
from handaxe.training.transfer_queue import TransferQueue

__all__ = ["Streaming"]


class Streaming:
    """One round's way from played groups to rated ones; a row of its queue is a group.

        played --reward--> scored --features--> measured --credit, all at once and in order--> rated

    The result is that of doing each stage for the whole round at its end. A group is rewarded and measured on its own;
    a reward that keeps state sees the groups in the order in which they were launched, whatever the order in which
    they finish; so does credit, which may keep state or look across groups.

    Args:
        reward, treatment, retries: see `reward_all`.
        engine, features: see `annotate`.
        clock: counts the phases reward and credit.

    Example:
        stream = Streaming(...); stream(placed) for each group that finished; rated = stream.rate(credit)
    """

    def __init__(
        self,
        reward: Reward,
        engine: Engine,
        features: List[str],
        *,
        treatment: Mapping[EndingKind, Treatment],
        retries: int,
        clock: Clock,
    ):
        self._reward, self._engine, self._features = reward, engine, features
        self._treatment, self._retries, self._clock = treatment, retries, clock
        self._in_order = isinstance(reward, Stateful)
        self._queue = TransferQueue(("played", "scored", "measured"))
        self._played: dict[int, Tried] = {}

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
        self._work(in_order=self._in_order)

    def rate(self, credit: Credit) -> list[Rated]:
        """Finish what is left, and rate the groups that could be scored."""
        self._work(in_order=False)
        measured: list[Scored] = []
        while rows := self._queue.get("credit", ["measured"], 1):
            measured += rows[0].cells["measured"]
        with self._clock("credit"):
            return credit_all(measured, credit)

    def _work(self, *, in_order: bool) -> None:
        while rows := self._queue.get("reward", ["played"], 1, in_order=in_order):
            ((row, cells),) = rows
            with self._clock("reward"):
                scored = reward_all([cells["played"]], self._reward, treatment=self._treatment, retries=self._retries)
            self._queue.put("scored", {row: scored})
        while rows := self._queue.get("features", ["scored"], 1):
            ((row, cells),) = rows
            with self._clock("credit"):
                annotate(cells["scored"], self._engine, self._features)
            self._queue.put("measured", {row: cells["scored"]})
