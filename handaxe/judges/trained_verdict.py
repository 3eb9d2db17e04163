"""A copy of the policy as judge, trained on step labels to answer yes or no about each step."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import name_images
from handaxe.core.protocols import ChatFormat, Measures, Source, StageContext, StatefulEngine
from handaxe.core.records import Criterion, Group, Message, RatedGroup, Trajectory
from handaxe.judges.verdict_token import Ask, VerdictToken, turn_question, verdict_token
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.sources import scripted

__all__ = ["TrainedVerdict", "contextual_question", "trained_verdict"]

MODEL_LOCK = threading.Lock()
"""Serializes calls of the model by concurrent rollouts."""
Labels = Callable[
    [Iterable[Trajectory]], Sequence[tuple[Trajectory, int, bool] | tuple[Trajectory, int, bool, Criterion]]
]
"""Trajectories -> (trajectory, turn number, label correct or not, and the criterion if any), such as
`papers.grounded_prm.node_labels` and `papers.calm.goal_transitions.sampled_transitions`.
"""


def contextual_question(trajectory: Trajectory, turn: int, criterion: Criterion | None) -> str:
    """The question of `turn_question`, preceded by the last tool result before the turn.

    Example:
        'before: "4+7+3"', then 'task: ...', 'did: ...', 'then: ...' and the question, a line each
    """
    before = [name_images(reply.content, reply.images) for one in trajectory.turns[:turn] for reply in one.replies][-1:]
    return f"before: {json.dumps(''.join(before))}\n{turn_question(trajectory, turn, criterion)}"


def trained_verdict(
    *, engine: StatefulEngine | None = None, format: ChatFormat | None = None, ask: Ask = contextual_question
) -> TrainedVerdict:
    """Make a judge with one question a turn, as `verdict_token`, whose answers are trained on labels.

        p_k = P(yes) / (P(yes) + P(no))         score_k = 2 p_k - 1
        training example: the question about a labelled turn, answered by yes or no; the answer's tokens train

    Args:
        engine: its model; None: a copy of the policy at the start of the judge.
        format: chat format of the model; None: that of the policy in the run whose stage trains the judge.
        ask: renders the question.

    Returns:
        A judge and StepJudge; the score of a rollout is the mean over its steps, 0 without a turn. `reached_by_turn`
        gives the answer for each turn and criterion, if labels of criteria trained it. `training_source` is a source
        for `teach_second(second=judge.second, source=judge.training_source(...))`. List `judge.second` among the
        learners of the run, so that checkpoints hold its weights; it learns nothing there.

    Raises:
        InputError: a call before the judge has a model and a format; a model without log-prob measurements.

    Example:
        log P(yes) -0.5, log P(no) -1.5: p = 0.7311, score 0.4621

    Paper: arXiv:2510.14942 (GroundedPRM), the reward model.
    Differs: it answers directly, without a written query or rationale.
    """
    return TrainedVerdict(AuxLearner(engine), format, ask)


class TrainedVerdict:
    """See `trained_verdict`. `second` holds its model."""

    def __init__(self, second: AuxLearner, format: ChatFormat | None, ask: Ask):
        self.second = second
        self._format = format
        self._ask = ask
        self._known: dict[str | Message, float] = {}
        self._version = -1

    def score(self, group: Group) -> np.ndarray:
        """[G]: means over steps."""
        return np.array([own.mean() if len(own) else 0.0 for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        questions = [[self._ask(one, k, None) for k in range(len(one.turns))] for one in group]
        known = self._answers([question for own in questions for question in own])
        return tuple(np.array([2 * known[question] - 1 for question in own], np.float64) for own in questions)

    def reached_by_turn(self, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        """[C, N] bool: a `protocols.Check` of the criteria reached by each turn, true for p above one half."""
        questions = [[self._ask(trajectory, k, one) for k in range(len(trajectory.turns))] for one in criteria]
        known = self._answers([question for own in questions for question in own])
        found = [[known[question] > 0.5 for question in own] for own in questions]
        return np.array(found, bool).reshape(len(criteria), len(trajectory.turns))

    def training_source(self, groups: Source, labels: Labels) -> Source:
        """A source of questions and answers about labelled steps of groups."""

        def source(site: StageContext) -> list[RatedGroup]:
            self._format = self._format or site.format
            labelled = labels(one for rated in groups(site) for one in rated.group)
            made = [self._example(*label, number=n) for n, label in enumerate(labelled)]
            return scripted(trajectories=made)(site)

        return source

    def _answers(self, questions: Sequence[str | Message]) -> dict[str | Message, float]:
        """p of each question. Answers of the same weights are cached, since a rollout asks again as it grows."""
        with MODEL_LOCK:
            judge, version = self._judge(), self.second.engine.version
            if version != self._version:
                self._known, self._version = {}, version
            new = [question for question in dict.fromkeys(questions) if question not in self._known]
            self._known |= zip(new, judge.probabilities(new).tolist())
            return {question: self._known[question] for question in questions}

    def _judge(self) -> VerdictToken:
        engine: Any = self.second.engine
        if self._format is None:
            raise InputError("this judge has no chat format: train it first, or give it a format")
        if not isinstance(engine, Measures):
            raise InputError(f"{type(engine).__name__} has no log-prob measurements, which a judge needs")
        return verdict_token(engine=engine, format=self._format, ask=self._ask)

    def _example(
        self, one: Trajectory, turn: int, right: bool, criterion: Criterion | None = None, *, number: int
    ) -> Trajectory:
        assert self._format is not None
        answer = Message("assistant", "yes" if right else "no")
        question = self._ask(one, turn, criterion)
        asked = question if isinstance(question, Message) else Message("user", question)
        return trajectory_from_messages(self._format, [asked, answer], id=f"lesson/{number}")
