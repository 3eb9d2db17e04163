"""Hidden states of a frozen policy at the end of rollouts, as features of reward models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine
from handaxe.core.records import Trajectory

__all__ = ["end_states"]


def end_states(engine: Engine, rollouts: Sequence[Trajectory], *, rows: int = 64) -> Callable[[Trajectory], np.ndarray]:
    """Read each rollout once, and return a lookup of its features.

        x = state of the last layer after the last token of the last sequence

    Args:
        engine: with a local model.
        rollouts: with different ids.
        rows: rollouts of a forward pass.

    Returns:
        Rollout -> [D]; a KeyError for one that was not read.

    Raises:
        InputError: an engine without a local model.

    Example:
        a model of width 128  ->  [128]

    Idea: a reward head on frozen features costs one forward pass for all fits of a curation loop.
    """
    model: Any = getattr(engine, "model", None)
    if model is None:
        raise InputError(f"{type(engine).__name__} shows no hidden states of a model: use the local engine")
    order = sorted(rollouts, key=lambda one: len(one.sequences[-1]))
    found: dict[str, np.ndarray] = {}
    with torch.inference_mode():
        for start in range(0, len(order), rows):
            part = order[start : start + rows]
            longest = max(len(one.sequences[-1]) for one in part)
            ids_BT = np.zeros((len(part), longest), np.int64)
            attend_BT = np.zeros((len(part), longest), bool)
            for b, one in enumerate(part):
                ids_BT[b, : len(one.sequences[-1])] = one.sequences[-1].ids
                attend_BT[b, : len(one.sequences[-1])] = True
            hidden_BTD = model.hidden(torch.from_numpy(ids_BT), torch.from_numpy(attend_BT)).double().numpy()
            for b, one in enumerate(part):
                found[one.id] = hidden_BTD[b, len(one.sequences[-1]) - 1].copy()
    return lambda one: found[one.id]
