"""Scoring and measuring of finished groups while other groups are still in play."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf

from handaxe.core.endings import treatments
from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import Credit, Engine, HiddenMeasure, Reward, RolloutPlan, Stateful
from handaxe.core.records import PlayedGroup, RatedGroup, ScoredGroup
from handaxe.core.requests import Work
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.player import Placed, Player
from handaxe.training.loop.rate import annotate, rate_group, score_played
from handaxe.training.loop.step_metrics import Clock

__all__ = ["Streaming"]

Judged = ScoredGroup | PlayedGroup | Exception


class Streaming:
    """Path of one round's groups through reward, features and credit.

        played --reward--> judged --features--> measured --credit, all at once and in order--> rated

    The result equals running each stage once over the whole round. Groups are scored and measured one by one. A
    stateful reward sees groups in launch order, independent of their order of completion; so does credit, which may
    keep state or read several groups. An error of the reward is raised here, for the first failing group in launch
    order.

    Args:
        reward: see `score_played`.
        engine, features: see `annotate`.
        run: its treatments of endings, and retries.
        beside: player that calls the reward in a thread of its workers, for one group at a time, during play; None
            calls it here.
        clock: counts the phases reward (with `beside` only the wait at the end) and credit.

    Example:
        groups = Streaming(...).rate(finishing, credit)
    """

    def __init__(
        self,
        reward: Reward,
        engine: Engine,
        features: Sequence[str | HiddenMeasure],
        *,
        run: RunConfig,
        beside: Player | None,
        clock: Clock,
    ):
        self._engine = engine
        self._features = features
        self._beside = beside
        self._clock = clock
        self._reward = reward
        self._treatment, self._retries = treatments(run.on_ending), run.retries
        self._in_order = isinstance(reward, Stateful)
        self._waiting: dict[int, PlayedGroup] = {}
        self._judged: dict[int, Judged] = {}
        self._measured: dict[int, ScoredGroup | PlayedGroup] = {}
        self._next = 0  # lowest place without a score, for rewards that need the order
        self._checked = 0  # number of places, from 0 on, with rewards known not to have failed
        self._rewarding = False
        self._failed: float = inf  # first place at which the reward is known to fail

    def add(self, placed: Placed) -> None:
        """Take a finished group, and do all work that is possible now."""
        self._waiting[placed.place] = placed.group
        self._score()
        self._measure()

    def rate(self, finishing: Iterable[Placed], credit: Credit) -> list[RatedGroup | PlayedGroup]:
        """Take the groups of a round in order of completion, and rate the scored ones.

        Returns:
            All groups in launch order; a group without a score stays a PlayedGroup.
        """
        for placed in self._clock.over("sampling", finishing):
            self.add(placed)
        self._in_order = False
        self._score()
        with self._clock("reward"):
            if self._beside is not None:
                self._beside.wait()
        self._checked = 1 + max(self._judged, default=-1)  # missing places delay no error
        self._measure()
        with self._clock("credit"):
            return [
                rate_group(one, credit) if isinstance(one, ScoredGroup) else one
                for _, one in sorted(self._measured.items(), key=lambda item: item[0])
            ]

    def _score(self) -> None:
        """Score the waiting groups, here or in a worker."""
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
            except Exception as error:  # of the worker's thread
                judged = HandaxeError(f"the reward of task {one.group.task.id!r} did not end: {error}")
                judged.__cause__ = error
            self._note(place, judged)
        self._rewarding = False
        return []

    def _due(self) -> Iterator[tuple[int, PlayedGroup]]:
        """Groups to score, lowest place first; none launched after a failure."""
        while self._waiting:
            place = self._next if self._in_order else min(self._waiting)
            if place not in self._waiting:
                return
            self._next = place + 1
            one = self._waiting.pop(place)
            if place < self._failed:
                yield place, one

    def _judge(self, one: PlayedGroup) -> Judged:
        try:
            return score_played(one, self._reward, treatment=self._treatment, retries=self._retries)
        except Exception as error:
            return error

    def _note(self, place: int, judged: Judged) -> None:
        if isinstance(judged, Exception):
            self._failed = place
        self._judged[place] = judged

    def _measure(self) -> None:
        """Raise a reward's error once all earlier groups are scored; measure the scored groups."""
        while self._checked in self._judged or self._checked in self._measured:
            self._checked += 1
        for place in sorted(self._judged):
            judged = self._judged[place]
            if isinstance(judged, Exception):
                if place < self._checked:
                    raise judged
                continue
            del self._judged[place]
            if isinstance(judged, ScoredGroup):
                with self._clock("credit"):
                    judged = annotate(judged, self._engine, self._features)
            self._measured[place] = judged
