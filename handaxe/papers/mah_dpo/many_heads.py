"""A small policy with one output layer per objective, and weights that mix the layers' logits.

Legend: T tokens, D hidden width, V vocabulary, H heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import Model
from handaxe.models.tiny import PIECES, TinyConfig, TinyModel, TinyNet
from handaxe.ops.seeds import derive_seed

__all__ = ["HeadMix", "ManyHeads", "ManyHeadsNet", "many_heads"]

WEIGHTS = "model.safetensors"
HEADS = "heads."
"""Prefix of a head's name in a checkpoint."""


class HeadMix:
    """Weights of the heads [H], shared by a model and all copies of the model, so that a reference uses equal heads.

    Example:
        with mix.use((0.5, 0.5)): logits are means of both heads
    """

    def __init__(self, heads: int):
        self.weights: tuple[float, ...] = (1.0 / heads,) * heads

    def __deepcopy__(self, memo: dict[int, Any]) -> HeadMix:
        return self

    def only(self, head: int) -> AbstractContextManager[None]:
        """Use a single head inside the context."""
        return self.use([float(place == head) for place in range(len(self.weights))])

    @contextmanager
    def use(self, weights: Sequence[float]) -> Iterator[None]:
        """Set the weights inside the context.

        Raises:
            InputError: another number of weights than heads, only zeros, or a weight that is not finite.
        """
        given = tuple(float(weight) for weight in weights)
        if len(given) != len(self.weights) or not any(given) or not all(map(math.isfinite, given)):
            raise InputError(
                f"a model of {len(self.weights)} heads takes as many finite weights, one of them not 0: not {given}"
            )
        before = self.weights
        self.weights = given
        try:
            yield
        finally:
            self.weights = before


class ManyHeadsNet(TinyNet):
    """TinyNet whose output layer is a weighted sum of H layers, none of them tied to the input embedding."""

    def __init__(self, config: TinyConfig, heads: int):
        super().__init__(config)
        self.heads = nn.ParameterList([nn.Parameter(self.embed.weight.detach().clone()) for _ in range(heads)])
        self.mix = HeadMix(heads)

    def mixed(self) -> Tensor:
        """Output layer [V, D] of the current weights; a head of weight 0 is not read and gets no gradient."""
        used = [(weight, head) for weight, head in zip(self.mix.weights, self.heads, strict=True) if weight]
        first = used[0][1] if used[0][0] == 1.0 else used[0][0] * used[0][1]
        return sum((weight * head for weight, head in used[1:]), first)

    def head(self, hidden_BTD: Tensor) -> Tensor:
        """Compute logits [..., V] by the mixed output layer."""
        return hidden_BTD @ self.mixed().T


class ManyHeads(TinyModel):
    """Model of `many_heads`; `mix` has the weights of the heads."""

    module: ManyHeadsNet

    @property
    def mix(self) -> HeadMix:
        """Weights of the heads."""
        return self.module.mix

    @classmethod
    def load(cls, folder: Path) -> ManyHeads:
        """Load a saved model, as float32 weights; the number of heads is that of the file.

        Raises:
            CheckpointError: a file is missing or damaged, or the model has no heads.
        """
        try:
            tensors = load_file(folder / WEIGHTS)
        except (OSError, ValueError, SafetensorError) as error:
            raise CheckpointError(f"no weights can be read from {folder / WEIGHTS}: {error}") from error
        count = sum(name.startswith(HEADS) for name in tensors)
        if not count:
            raise CheckpointError(f"the model in {folder} has no heads: load it by TinyModel.load, then many_heads")
        module = _quiet_net(TinyConfig.load(folder), count)
        try:
            module.load_state_dict(tensors)
        except RuntimeError as error:
            raise CheckpointError(f"the weights in {folder} do not fit its config.json: {error}") from error
        return cls(module, pieces=(folder / PIECES).read_text() if (folder / PIECES).is_file() else "")

    def linear_head(self) -> tuple[Tensor, None]:
        """Return the mixed output layer [V, D]; no bias."""
        return self.module.mixed(), None


def many_heads(model: Model, *, heads: int = 2, noise: float = 0.001, seed: int = 0) -> ManyHeads:
    """Copy a small policy, with H noisy copies of the output layer.

        W_h = W + noise eps_h,  eps_h ~ N(0, 1)          logits = sum_h w_h W_h x,  w = `mix.weights`

    Trunk and input embedding are shared, and every weight trains. Sampling, measuring and the reference use the weights
    of `mix`, 1 / H each at first. With the weights (1, 0) the model equals head 0 alone, bit for bit, and head 1 gets
    no gradient.

    Args:
        model: a `TinyModel`; it stays unchanged.
        heads: H, one per objective, >= 1.
        noise: standard deviation of the noise on every head, head 0 too; 0.001 in the paper's code. >= 0.
        seed: of the noise, with separate draws for each head; torch's random state is not used.

    Returns:
        A model for any engine that takes a `TinyModel`; `save` writes all heads, and `ManyHeads.load` reads them.

    Raises:
        InputError: another kind of model, no head, or noise below 0.

    Example:
        logits (2, 0) of head 0 and (0, 1) of head 1, weights (0.75, 0.25)  ->  (1.5, 0.25)

    Paper: arXiv:2510.01167 (MAH-DPO), released code (multihead_model.py).
    Differs: the heads of the paper are on a model of 7B parameters; the noise comes from a separate generator.
    """
    if not isinstance(model, TinyModel):
        raise InputError(f"many_heads takes a TinyModel, such as load('tiny').model, not {type(model).__name__}")
    if heads < 1 or noise < 0:
        raise InputError(f"give 1 head or more and noise of 0 or more, not {heads} and {noise}")
    module = _quiet_net(model.module.config, heads).to(model.module.embed.weight)
    module.load_state_dict(model.module.state_dict(), strict=False)
    weight = model.module.embed.weight.detach()
    with torch.no_grad():
        for number, head in enumerate(module.heads):
            draws = torch.Generator().manual_seed(derive_seed("many_heads", seed, number) % 2**63)
            eps = torch.randn(weight.shape, generator=draws, dtype=torch.float64)
            head.copy_(weight + noise * eps.to(weight))
    return ManyHeads(module, pad_id=model.pad_id, pieces=model.pieces)


def _quiet_net(config: TinyConfig, heads: int) -> ManyHeadsNet:
    """Make a network without a change of torch's random state."""
    with torch.random.fork_rng(devices=[]):
        return ManyHeadsNet(config, heads)
