"""Torch modules and optimisers of an engine: evaluation mode, frozen copies, AdamW, named tensors of a checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from handaxe.core.deferred import torch
from handaxe.core.model_api import Model

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = [
    "adamw",
    "buffers",
    "copy_model",
    "engine_tensors",
    "eval_mode",
    "frozen_copy",
    "is_critic",
    "moment_shapes",
    "moments",
    "set_moments",
    "training_setup",
    "value_head",
]

MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@contextmanager
def eval_mode(module: nn.Module) -> Iterator[None]:
    """Context manager: evaluation mode (dropout off); restores the mode of every submodule on exit."""
    training = [part for part in module.modules() if part.training]
    if training:
        module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def copy_model(model: Model) -> Model:
    """A deep copy of the model that shares the untrained parameters, which are constant.

    Copies of a model with an adapter are adapters on one base in memory, each with modules and buffers of its own.
    """
    shared = {id(one): one for one in model.module.parameters() if not one.requires_grad}
    return copy.deepcopy(model, dict[int, Any](shared))


def frozen_copy(model: Model) -> Model:
    """A copy of the model without gradients, in evaluation mode; see `copy_model`."""
    model = copy_model(model)
    model.module.requires_grad_(False).eval()
    return model


def value_head(width: int, dtype: torch.dtype, device: torch.device) -> nn.Linear:
    """A linear layer from hidden state to value, initialised to 0; does not use torch's random state."""
    head = torch.nn.utils.skip_init(torch.nn.Linear, width, 1, dtype=dtype, device=device)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    return head


def adamw(trained: Mapping[str, Tensor], *, weight_decay: float, betas: tuple[float, float]) -> torch.optim.AdamW:
    """AdamW over the parameters, with weight decay on matrices only (not on gains and biases).

    Parameters of the critic are in separate groups, with the key "critic".
    """
    groups = [
        {
            "params": [p for name, p in trained.items() if (p.ndim >= 2, is_critic(name)) == (matrix, critic)],
            "weight_decay": weight_decay if matrix else 0.0,
            "critic": critic,
        }
        for critic in (False, True)
        for matrix in (True, False)
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], betas=betas)


def is_critic(name: str) -> bool:
    """True for the name of a critic's parameter in a checkpoint."""
    return name.startswith("critic.")


def buffers(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """Persistent buffers of the module; names start with `prefix`."""
    parameters = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    return {prefix + name: tensor for name, tensor in module.state_dict().items() if name not in parameters}


def engine_tensors(trained: Mapping[str, Tensor], model: Model, reference: Model | None) -> dict[str, Tensor]:
    """Tensors of a checkpoint except optimiser state: trained parameters, buffers and the reference model. Tensors are
    not copied."""
    tensors = {**trained, **buffers("weights.", model.module)}
    if reference is not None:
        module = reference.module
        tensors |= {f"reference.{k}": p for k, p in module.named_parameters() if f"weights.{k}" in trained}
        tensors |= buffers("reference.", module)
    return tensors


def training_setup(
    optimizer: torch.optim.AdamW, trained: Iterable[str], *, clip_norm: float, device: torch.device
) -> str:
    """A string that is equal for engines with equal optimiser settings and equal trained parameters."""
    settings = {k: v for k, v in optimizer.defaults.items() if isinstance(v, (int, float, tuple))}
    decays = [group["weight_decay"] for group in optimizer.param_groups if not group["critic"]]
    weights = [name for name in trained if name.startswith("weights.")]
    return repr((sorted(settings.items()), decays, weights, clip_norm, device.type))


def moments(optimizer: torch.optim.AdamW, named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return AdamW's state by parameter name, without parameters that never had a gradient."""
    return {
        f"optimizer.{name}.{key}": value
        for name, parameter in named.items()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def moment_shapes(named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors with the names, shapes and dtypes of `moments` after a step."""
    out: dict[str, Tensor] = {}
    for name, parameter in named.items():
        like = (torch.zeros(()), parameter, parameter)
        out |= {f"optimizer.{name}.{key}": tensor for key, tensor in zip(MOMENTS, like)}
    return out


def set_moments(optimizer: torch.optim.AdamW, named: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Restore AdamW's state from `moments`; the step count stays on the host, as AdamW expects."""
    optimizer.state.clear()
    for name, parameter in named.items():
        state = {key: found[f"optimizer.{name}.{key}"] for key in MOMENTS if f"optimizer.{name}.{key}" in found}
        if state:
            optimizer.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in state.items()}
