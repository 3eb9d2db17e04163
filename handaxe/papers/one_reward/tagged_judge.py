"""Judge of pairs of pictures, with tags of task and criterion.

Legend: Q questions, F features, T numbers of a tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.judges.small_net import SmallNet, minimise
from handaxe.papers.one_reward.questions import TAG_SIZE, PairQuestion, tag_row
from handaxe.worlds.canvas.edit_features import EDIT_SIZE, edit_row
from handaxe.worlds.canvas.edits import EditRequest

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["TaggedJudge", "Tags"]

Tags = Literal["tagged", "untagged"]
HIDDEN = 32


class TaggedJudge:
    """Probability of Yes to a better first picture, by task and criterion.

        P(Yes | task, criterion, A, B) = sigmoid(f(A, tag) - f(B, tag))
        f(x, tag) = g(x) . W tag         g: a network of 9 outputs, W tag: the output of the task and criterion
        L = mean over questions of the cross-entropy of the answer

    The hidden layer is common to all tasks and criteria. Without tags, all questions have one output.

    Args:
        tags: "tagged", or "untagged" for one output for all.
        seed: of the weights.

    Raises:
        InputError: another word.

    Example:
        scores 1 and 0 under a tag: P(Yes) 0.73106

    Paper: OneReward (paper 59), one vision-language model that answers Yes or No for all tasks and criteria.
    Differs: a small network on features of both pictures, whose answer is antisymmetric in them.
    """

    def __init__(self, *, tags: Tags = "tagged", seed: int = 0):
        if tags not in ("tagged", "untagged"):
            raise InputError(f"tags is 'tagged' or 'untagged', not {tags!r}")
        self._tags = tags
        self._net = SmallNet(EDIT_SIZE, TAG_SIZE if tags == "tagged" else 1, hidden=HIDDEN, seed=seed)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(one.numel() for one in self._net.weights)

    def fit(self, questions: Sequence[PairQuestion], *, steps: int = 200) -> float:
        """Fit the answers; returns the loss before the last step.

        Raises:
            InputError: no question.
        """
        if not questions:
            raise InputError("the judge learns from questions: give one or more")
        rows = [[edit_row(one.image, one.request) for one in (ask.first, ask.second)] for ask in questions]
        input_NF = np.array(rows).reshape(-1, EDIT_SIZE)
        tag_QT = torch.from_numpy(self._tag_rows([(ask.kind, ask.criterion) for ask in questions]))
        yes_Q = torch.tensor([float(ask.yes) for ask in questions], dtype=torch.float64)
        self._net.scale(input_NF)

        def loss() -> Tensor:
            score_Q2 = (self._net(input_NF).reshape(len(questions), 2, -1) * tag_QT[:, None]).sum(2)
            margin_Q = score_Q2[:, 0] - score_Q2[:, 1]
            return torch.nn.functional.binary_cross_entropy_with_logits(margin_Q, yes_Q)

        return minimise(loss, self._net, steps=steps)

    def scores(self, pictures: Sequence[tuple[Image, EditRequest]], criterion: str) -> np.ndarray:
        """[N] scores f of pictures by a criterion; tasks are the kinds of the requests."""
        if not len(pictures):
            return np.zeros(0)
        output_NT = self._net.values(np.array([edit_row(*one) for one in pictures]))
        tag_NT = self._tag_rows([(request.kind, criterion) for _, request in pictures])
        return np.asarray((output_NT * tag_NT).sum(1))

    def answers(self, questions: Sequence[PairQuestion]) -> np.ndarray:
        """[Q] probabilities of Yes."""
        found = list[float]()
        for ask in questions:
            both = [(one.image, one.request) for one in (ask.first, ask.second)]
            first, second = self.scores(both, ask.criterion)
            found.append(float(1 / (1 + np.exp(second - first))))
        return np.array(found)

    def _tag_rows(self, asked: Sequence[tuple[str, str]]) -> np.ndarray:
        rows = np.array([tag_row(*one) for one in asked])
        return rows if self._tags == "tagged" else np.ones((len(rows), 1))
