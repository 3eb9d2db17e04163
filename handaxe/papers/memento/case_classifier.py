"""Learned retrieval: a network that predicts success from a question and a case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CaseClassifier", "Retrieval", "case_loss"]

HIDDEN = 512
DROPOUT = 0.2
BATCH = 32


class Retrieval(NamedTuple):
    """Case that was shown with a question, by the numbers of their vectors, and the success of the attempt."""

    question: int
    case: int
    success: float


def case_loss(logit_N: torch.Tensor, success_N: torch.Tensor) -> torch.Tensor:
    """Compute the cross-entropy of predicted success.

        L = mean of -r log Q - (1 - r) log(1 - Q),   Q = 1 / (1 + exp(-logit))

    Args:
        logit_N: predictions.
        success_N: r, 0 or 1.

    Returns:
        Scalar, differentiable.

    Example:
        Q = 0.8: 0.223 for a success, 1.609 for a failure

    Paper: arXiv:2508.16153 (Memento), loss of the parametric memory.
    Differs: nothing.
    """
    return torch.nn.functional.binary_cross_entropy_with_logits(logit_N, success_N)


class CaseClassifier:
    """Q(s, c): probability that a question succeeds with a case in the prompt.

        Q = sigmoid(W2 dropout(relu(W1 [e(question), e(case)])))

    Args:
        width: D, of the vectors e.
        epochs: over all retrievals.
        learning_rate: of AdamW.
        seed: of weights, order and dropout.

    Example:
        net = CaseClassifier(384, seed=0); net.fit(question_AD, case_BD, retrievals); net.values(e_D, case_BD) is [B]

    Paper: arXiv:2508.16153 (Memento), parametric memory with the released classifier's two layers of 512.
    Differs: the encoder is frozen; the paper trains it, for 3 epochs at 2e-5. One logit instead of two.
    """

    def __init__(self, width: int, *, epochs: int = 20, learning_rate: float = 1e-3, seed: int = 0):
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.seed = seed
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed("case classifier", seed) % 2**31)
            layers = torch.nn
            self.net: nn.Sequential = layers.Sequential(
                layers.Linear(2 * width, HIDDEN), layers.ReLU(), layers.Dropout(DROPOUT), layers.Linear(HIDDEN, 1)
            )

    def fit(self, question_AD: np.ndarray, case_BD: np.ndarray, retrievals: Sequence[Retrieval]) -> float:
        """Train on retrievals; returns the mean loss of the last epoch.

        Raises:
            InputError: no retrieval.
        """
        if not retrievals:
            raise InputError("the classifier learns from retrievals: play questions with cases first")
        rows = np.array([(one.question, one.case) for one in retrievals])
        input_NF = torch.tensor(np.hstack([question_AD[rows[:, 0]], case_BD[rows[:, 1]]]), dtype=torch.float32)
        success_N = torch.tensor([one.success for one in retrievals], dtype=torch.float32)
        optimizer = torch.optim.AdamW(self.net.parameters(), lr=self.learning_rate, weight_decay=0.01)
        rng, mean = np.random.default_rng(derive_seed("case order", self.seed)), 0.0
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed("case dropout", self.seed) % 2**31)
            self.net.train()
            for _ in range(self.epochs):
                total = 0.0
                order = rng.permutation(len(rows))
                for start in range(0, len(order), BATCH):
                    part = torch.from_numpy(order[start : start + BATCH])
                    loss = case_loss(self.net(input_NF[part])[:, 0], success_N[part])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    total += float(loss.detach()) * len(part)
                mean = total / len(order)
        return mean

    def values(self, question_D: np.ndarray, case_BD: np.ndarray) -> np.ndarray:
        """Compute Q of a question with B cases: [B] float64, 0 to 1."""
        self.net.eval()
        input_BF = np.hstack([np.tile(question_D, (len(case_BD), 1)), case_BD])
        with torch.no_grad():
            logit_B = self.net(torch.tensor(input_BF, dtype=torch.float32))[:, 0]
        return torch.sigmoid(logit_B).double().numpy()
