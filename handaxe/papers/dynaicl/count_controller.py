"""Controller: predicts from a prompt how many demonstrations it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CountController", "RunningBaseline", "reinforce_loss"]

BATCH = 32


class RunningBaseline:
    """Moving average of rewards as a baseline.

        b_1 = R_1,   b_t = (1 - rate) * b_(t-1) + rate * R_t

    Args:
        rate: 0 to 1.

    Raises:
        InputError: a rate outside (0, 1].

    Example:
        rate 0.1: rewards 1, 0  ->  b = 1, 0.9

    Paper: arXiv:2305.11170 (DynaICL), the baseline b of its REINFORCE.
    Unconfirmed: the rate.
    """

    def __init__(self, *, rate: float = 0.1):
        if not 0 < rate <= 1:
            raise InputError(f"the rate of a moving average is above 0 and at most 1, not {rate}")
        self.rate = rate
        self.value: float | None = None

    def update(self, reward: float) -> float:
        """Include the mean reward of a step; returns the new baseline."""
        self.value = reward if self.value is None else (1 - self.rate) * self.value + self.rate * reward
        return self.value


def reinforce_loss(logp_B: torch.Tensor, reward_B: torch.Tensor, *, baseline: float) -> torch.Tensor:
    """Compute the loss of REINFORCE with a baseline.

        L = -mean of (R - b) log C(k | P)

    Args:
        logp_B: log-probability of the sampled numbers.
        reward_B: R.
        baseline: b.

    Returns:
        Scalar, differentiable in `logp_B`.

    Example:
        R = 1 and 0, b = 0.5, log C = -1 and -2  ->  -(0.5 * -1 + -0.5 * -2) / 2 = -0.25

    Paper: arXiv:2305.11170 (DynaICL), E[(R - b) grad log C(k | P)].
    Differs: nothing.
    """
    return -((reward_B - baseline) * logp_B).mean()


class CountController:
    """C(k | P): a distribution over 0, 1, ..., K demonstrations, from the vector of a prompt.

        C(. | P) = softmax(W2 relu(W1 e(P)))

    Args:
        width: D, of the vector e(P).
        most: K.
        hidden: width of the hidden layer.
        seed: of weights, order and samples.

    Example:
        controller = CountController(384, most=4); controller.teach(prompt_PD, [0, 2, 1]); controller.sample(prompt_PD)

    Paper: arXiv:2305.11170 (DynaICL), the meta-controller.
    Differs: two layers on frozen sentence vectors; the paper fine-tunes FLAN-T5-large.
    """

    def __init__(self, width: int, *, most: int, hidden: int = 128, seed: int = 0):
        self.most, self.seed = most, seed
        self._rng = np.random.default_rng(derive_seed("count controller", seed))
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed("count controller weights", seed) % 2**31)
            layers = torch.nn
            self.net: nn.Sequential = layers.Sequential(
                layers.Linear(width, hidden), layers.ReLU(), layers.Linear(hidden, most + 1)
            )
        self._optimizer: torch.optim.Optimizer | None = None

    def log_probs(self, prompt_PD: np.ndarray) -> torch.Tensor:
        """Compute log C: [P, K + 1]."""
        logit_PK = self.net(torch.tensor(np.asarray(prompt_PD), dtype=torch.float32))
        return torch.log_softmax(logit_PK, dim=-1)

    def expected(self, prompt_PD: np.ndarray) -> np.ndarray:
        """Return the mean of k under C: [P] float64, 0 to K.

        Unconfirmed: the paper's C(P) may be the most likely number.
        """
        with torch.no_grad():
            share_PK = self.log_probs(prompt_PD).exp().double().numpy()
        return share_PK @ np.arange(self.most + 1)

    def sample(self, prompt_PD: np.ndarray) -> list[int]:
        """Draw a number for each prompt."""
        with torch.no_grad():
            share_PK = self.log_probs(prompt_PD).exp().double().numpy()
        return [int(self._rng.choice(self.most + 1, p=share_K / share_K.sum())) for share_K in share_PK]

    def teach(
        self, prompt_PD: np.ndarray, count_P: Sequence[int], *, epochs: int = 30, learning_rate: float = 1e-3
    ) -> float:
        """Train by cross-entropy on labels; returns the mean loss of the last epoch."""
        label_P = torch.tensor(list(count_P))
        optimizer, mean = torch.optim.AdamW(self.net.parameters(), lr=learning_rate), 0.0
        for _ in range(epochs):
            order, total = self._rng.permutation(len(label_P)), 0.0
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                logp_BK = self.log_probs(np.asarray(prompt_PD)[part])
                loss = torch.nn.functional.nll_loss(logp_BK, label_P[torch.from_numpy(part)])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * len(part)
            mean = total / len(order)
        return mean

    def reinforce(
        self,
        prompt_BD: np.ndarray,
        count_B: Sequence[int],
        reward_B: Sequence[float],
        *,
        baseline: float,
        learning_rate: float = 1e-3,
    ) -> float:
        """Take a step of REINFORCE on sampled numbers; returns the loss."""
        if self._optimizer is None:
            self._optimizer = torch.optim.Adam(self.net.parameters(), lr=learning_rate)
        logp_B = self.log_probs(prompt_BD).gather(1, torch.tensor(list(count_B))[:, None])[:, 0]
        loss = reinforce_loss(logp_B, torch.tensor(list(reward_B), dtype=torch.float32), baseline=baseline)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())
