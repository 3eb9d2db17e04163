"""A judge that is a copy of the policy, taught by labels of steps to answer yes or no about each."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, KeptEngine, Measures, Source, StageContext
from handaxe.core.records import Criterion, Group, Message, Rated, Trajectory
from handaxe.judges.verdict_token import Ask, VerdictToken, about_turn, verdict_token
from handaxe.training.loop.aux_policy import SecondPolicy
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.sources import scripted

__all__ = ["TaughtVerdict", "in_its_place", "taught_verdict"]

ASKING = threading.Lock()
"""Attempts that are played at the same time ask from threads of their own, and a model answers one at a time."""
Labels = Callable[
    [Iterable[Trajectory]], Sequence[tuple[Trajectory, int, bool] | tuple[Trajectory, int, bool, Criterion]]
]
"""Attempts -> (attempt, number of a turn, whether it is right, and of which criterion where there is one), such as
`papers.grounded_prm.node_labels` and `papers.calm.reached.drawn_reaches`."""


def in_its_place(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    """The question of `about_turn`, with what had come back before the turn, which tells what it goes on from.

    Example:
        'before: "4+7+3"', then 'task: ...', 'did: ...', 'then: ...' and the question, a line each
    """
    before = [reply.content for one in trajectory.turns[:turn] for reply in one.replies][-1:]
    return f"before: {json.dumps(''.join(before))}\n{about_turn(trajectory, turn, criterion)}"


def taught_verdict(
    *, engine: KeptEngine | None = None, format: ChatFormat | None = None, ask: Ask = in_its_place
) -> TaughtVerdict:
    """Make a judge that is asked about every turn, as `verdict_token` is, and that labels teach to answer.

        p_k = P(yes) / (P(yes) + P(no))         score_k = 2 p_k - 1
        lesson: the question about a labelled turn, answered by yes or no; the answer's tokens train

    Args:
        engine: its model; None: a copy of the policy as it is when the judge begins.
        format: how it is spoken to; None: as the policy of the run whose stage teaches it.
        ask: renders the question.

    Returns:
        A judge and StepJudge; the score of an attempt is the mean over its steps, 0 without a turn. `brought_about`
        says of each turn and criterion whether the answer is yes, where labels of criteria taught it. `lessons` is a
        source for `teach_second(second=judge.second, source=judge.lessons(...))`. List `judge.second` among the
        learners of the run, so that its weights are in every checkpoint; it learns nothing there.

    Raises:
        InputError: asked before it has a model and a format; a model that cannot be measured.

    Example:
        log P(yes) -0.5, log P(no) -1.5: p = 0.7311, score 0.4621

    Paper: arXiv:2510.14942 (GroundedPRM), the reward model.
    Differs: it answers at once, and writes down neither a query nor a rationale before.
    """
    return TaughtVerdict(SecondPolicy(engine), format, ask)


class TaughtVerdict:
    """See `taught_verdict`. `second` holds its model."""

    def __init__(self, second: SecondPolicy, format: ChatFormat | None, ask: Ask):
        self.second = second
        self._format = format
        self._ask = ask
        self._known: dict[str, float] = {}
        self._version = -1

    def score(self, group: Group) -> np.ndarray:
        """[G]: means over steps."""
        return np.array([own.mean() if len(own) else 0.0 for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        asked = [[self._ask(one, k, None) for k in range(len(one.turns))] for one in group]
        known = self._answers([question for own in asked for question in own])
        return tuple(np.array([2 * known[question] - 1 for question in own], np.float64) for own in asked)

    def brought_about(self, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        """[C, N] bool: a `slots.Check` of what each turn has brought about, true where p is above one half."""
        asked = [[self._ask(trajectory, k, one) for k in range(len(trajectory.turns))] for one in criteria]
        known = self._answers([question for own in asked for question in own])
        said = [[known[question] > 0.5 for question in own] for own in asked]
        return np.array(said, bool).reshape(len(criteria), len(trajectory.turns))

    def lessons(self, groups: Source, labels: Labels) -> Source:
        """A source of questions and answers about the steps of some groups that have a label."""

        def source(site: StageContext) -> list[Rated]:
            self._format = self._format or site.format
            labelled = labels(one for rated in groups(site) for one in rated.group)
            made = [self._lesson(*label, number=n) for n, label in enumerate(labelled)]
            return scripted(trajectories=made)(site)

        return source

    def _answers(self, questions: Sequence[str]) -> dict[str, float]:
        """p of each. What the same weights were asked before is known: a rollout asks of an attempt as it grows."""
        with ASKING:
            judge, version = self._judge(), self.second.engine.version
            if version != self._version:
                self._known, self._version = {}, version
            new = [question for question in dict.fromkeys(questions) if question not in self._known]
            self._known |= zip(new, judge.chances(new).tolist())
            return {question: self._known[question] for question in questions}

    def _judge(self) -> VerdictToken:
        engine: Any = self.second.engine
        if self._format is None:
            raise InputError("this judge does not know how its model is spoken to: teach it first, or give it a format")
        if not isinstance(engine, Measures):
            raise InputError(f"{type(engine).__name__} cannot be measured, as a judge's model has to be")
        return verdict_token(engine=engine, format=self._format, ask=self._ask)

    def _lesson(
        self, one: Trajectory, turn: int, right: bool, criterion: Criterion | None = None, *, number: int
    ) -> Trajectory:
        assert self._format is not None
        said = Message("assistant", "yes" if right else "no")
        asked = Message("user", self._ask(one, turn, criterion))
        return trajectory_from_messages(self._format, [asked, said], id=f"lesson/{number}")
