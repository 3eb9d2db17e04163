"""Reward model that trains beside the policy on question, reference answer and final answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled
from handaxe.core.records import Group, Pair, RatedGroup, Trajectory
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.judges.reward_model import RewardModel
from handaxe.papers.cooper.against_corrupted import AgainstCorrupted
from handaxe.papers.cooper.judged_message import judged_trajectory

__all__ = ["AnswerVerifier", "answer_verifier"]


def answer_verifier(*, make: Callable[..., RewardModel], pairs: AgainstCorrupted) -> AnswerVerifier:
    """Make a reward model that reads a final answer beside the reference, not the rollout.

        score_i  = score of (question, reference, final answer of rollout i)
        update   = step of the reward model on (question, reference, correct answer) against (question, reference,
                   corrupted answer), for the pairs of the rollouts

    The fit, the scores and the updates have the same input.

    Args:
        make: makes the reward model; its keyword pairs is the maker of pairs that the model learns from.
        pairs: of rollouts. Their chat format is that of the reward model; set it before the first score.

    Returns:
        A judge, Fittable and a Learner; metrics and state are those of the reward model.

    Raises:
        InputError: a score without a chat format; a task without a reference answer.

    Example:
        question "6 * 7", reference "42", answers "41" and "42": the reward model scores "6 * 7\\n42\\n41" and
        "6 * 7\\n42\\n42", and learns that "6 * 7\\n42\\n42" is better than "6 * 7\\n42\\n43", a corruption

    Paper: arXiv:2508.05613 (Cooper), VerifyRM in the updates of policy and reward model.
    Differs: the answer is the text of the last turn, where the paper's VerifyRM reads the whole completion.
    """
    return AnswerVerifier(make, pairs)


class AnswerVerifier:
    """See `answer_verifier`."""

    def __init__(self, make: Callable[..., RewardModel], pairs: AgainstCorrupted):
        self._pairs = pairs
        self._model = make(pairs=self._judged_pairs)
        self._rollouts: Sequence[RatedGroup] = ()

    def begin(self, engine: Engine) -> None:
        """Begin the reward model as a copy of the policy."""
        self._model.begin(engine)

    def score(self, group: Group) -> np.ndarray:
        """[G]: scores of the final answers."""
        return self._model.score(self._judged_group(group))

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from labels of rollouts, as labels of their final answers; metrics of the reward model."""
        return self._model.fit([(self._judged_group(group), replace(scores, turns=None)) for group, scores in labelled])

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from the pairs of the rollouts of a step; metrics of the reward model."""
        judged = [(self._judged_group(one.group), replace(one.scores, turns=None)) for one in groups]
        self._rollouts = groups
        found = self._model.learn(with_zero_credit(judged), step=step)
        self._rollouts = ()
        return found

    def state_dict(self) -> dict[str, Any]:
        return self._model.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._model.load_state_dict(state)

    def _judged_pairs(self, judged: Sequence[RatedGroup]) -> list[Pair]:
        """The pairs of the step's rollouts with the input of the reward model; the judged groups lack the rollouts."""
        del judged
        found = self._pairs(self._rollouts)
        return [Pair(self._judged(one.chosen), self._judged(one.rejected), one.strength) for one in found]

    def _judged_group(self, group: Group) -> Group:
        return replace(group, trajectories=tuple(self._judged(one) for one in group))

    def _judged(self, one: Trajectory) -> Trajectory:
        """The input of the reward model about a rollout."""
        if self._pairs.format is None:
            raise InputError(
                "the reward model needs the policy's chat format before a score: set `format` of its pairs"
            )
        made = judged_trajectory(self._pairs.format, one.task, one.final_text, reference=True, id=one.id)
        return replace(made, sample=one.sample, seed=one.seed)
