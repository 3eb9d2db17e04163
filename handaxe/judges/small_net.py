"""Small network on features, with any number of outputs, for any loss.

Legend: N inputs, F features, H hidden units, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["SmallNet", "minimise"]

LEAST_STD = 1e-6


class SmallNet:
    """Network with one hidden layer on standardized features.

        x = (features - mean) / std          of the features that `scale` was given; a feature that never varies is 0
        output = tanh(x W_1 + b_1) W_2

    With hidden 0 the output is x W.

    Args:
        size: F.
        outputs: K.
        hidden: H, or 0 for a linear network.
        seed: of the weights, or their generator; torch's random state is not used.

    Raises:
        InputError: size or outputs below 1, or hidden below 0.

    Example:
        SmallNet(8, 3)(input_NF)  ->  [N, 3]

    Idea: a head on a frozen tower, without the tower.
    """

    def __init__(self, size: int, outputs: int, *, hidden: int = 32, seed: int | np.random.Generator = 0):
        if min(size, outputs) < 1 or hidden < 0:
            raise InputError(f"give size and outputs from 1 and hidden from 0, not {size}, {outputs} and {hidden}")
        rng = generator("small net", seed) if isinstance(seed, int) else seed
        first = rng.normal(size=(size, hidden or outputs)) / np.sqrt(size)
        rest = [np.zeros(hidden), rng.normal(size=(hidden, outputs)) / np.sqrt(hidden)] if hidden else []
        self.weights = [torch.from_numpy(one).requires_grad_() for one in (first, *rest)]
        self.size = size
        self._mean_F, self._std_F = np.zeros(size), np.ones(size)

    def scale(self, input_NF: np.ndarray) -> None:
        """Take mean and standard deviation of each feature."""
        self._mean_F, self._std_F = input_NF.mean(0), input_NF.std(0)
        self._std_F = np.where(self._std_F > LEAST_STD, self._std_F, np.inf)

    def __call__(self, input_NF: np.ndarray) -> Tensor:
        """[N, K] outputs, differentiable."""
        first, *rest = self.weights
        output = torch.from_numpy((np.asarray(input_NF, np.float64) - self._mean_F) / self._std_F) @ first
        for bias_H, last_HK in zip(rest[0::2], rest[1::2], strict=True):
            output = torch.tanh(output + bias_H) @ last_HK
        return output

    def values(self, input_NF: np.ndarray) -> np.ndarray:
        """[N, K] outputs."""
        with torch.no_grad():
            found: np.ndarray = self(input_NF).numpy()
        return found

    def state_dict(self) -> dict[str, Any]:
        """Weights, and the scale of the features; a standard deviation of 0 is that of a feature that never varies."""
        std_F = np.where(np.isinf(self._std_F), 0.0, self._std_F)
        weights = [one.detach().clone() for one in self.weights]
        return {"weights": weights, "mean": self._mean_F.tolist(), "std": std_F.tolist()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take weights and scale of another network of these sizes."""
        self.weights = [one.clone().requires_grad_() for one in state["weights"]]
        self._mean_F, std_F = np.array(state["mean"]), np.array(state["std"])
        self._std_F = np.where(std_F == 0, np.inf, std_F)


def minimise(
    loss: Callable[[], Tensor],
    *nets: SmallNet,
    steps: int = 200,
    learning_rate: float = 0.01,
    weight_decay: float = 0.1,
) -> float:
    """Minimize a loss of the outputs of networks, by AdamW on all data.

    Args:
        loss: no argument -> scalar.
        nets: whose weights are trained.
        steps, learning_rate, weight_decay: of AdamW.

    Returns:
        The loss before the last step.

    Raises:
        InputError: steps below 1.

    Example:
        minimise(lambda: ((net(input_NF) - target_NK) ** 2).mean(), net)
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; give 1 or more")
    weights = [one for net in nets for one in net.weights]
    optimizer = torch.optim.AdamW(weights, lr=learning_rate, weight_decay=weight_decay)
    value = float("nan")
    for _ in range(steps):
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        value = float(found.detach())
    return value
