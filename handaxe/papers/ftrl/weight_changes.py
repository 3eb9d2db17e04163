"""Relative change of weights by layer and part of the block."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["BlockPart", "weight_changes"]

BLOCK = re.compile(r"(?:^|\.)(?:blocks|layers|h)\.(\d+)\.(.*)")
MLP = re.compile(r"mlp|feed_forward|gate_up|down|fc1|fc2")


class BlockPart(NamedTuple):
    """Part of a transformer block. layer: from 0, next to the embedding. part: "attention" or "mlp"."""

    layer: int
    part: str


def weight_changes(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> dict[BlockPart, float]:
    """Compute the relative change of the matrices of each block, attention and MLP apart.

        change = ||W' - W||_F / ||W||_F        over all matrices of the part together

    Args:
        before, after: parameters by name, such as of `dict(module.named_parameters())`, of a model with blocks named
            blocks.K, layers.K or h.K. Vectors, embeddings and the head do not count.

    Returns:
        Changes by layer and part, sorted; 0 for unchanged weights.

    Raises:
        InputError: no block, other parameters in `after`, or a part whose weights are all 0.

    Example:
        blocks.0.qkv from [[3, 4]] to [[3, 5]]  ->  attention of layer 0 changes by 1 / 5

    Paper: arXiv:2508.08791 (FTRL), analysis of weight changes by layer and module.
    Differs: attention and MLP are not divided into their matrices.
    Unconfirmed: the measure of a change.
    """
    if before.keys() != after.keys():
        raise InputError(f"the parameters differ, such as {sorted(before.keys() ^ after.keys())[0]!r}")
    moved, size = defaultdict[BlockPart, float](float), defaultdict[BlockPart, float](float)
    for name, old in before.items():
        found = BLOCK.search(name)
        if found is None or old.ndim < 2:
            continue
        part = BlockPart(int(found[1]), "mlp" if MLP.search(found[2]) else "attention")
        old, new = old.detach().double(), after[name].detach().double()
        moved[part] += float((new - old).square().sum())
        size[part] += float(old.square().sum())
    if not size or not all(size.values()):
        raise InputError("the model has no block (blocks.K, layers.K or h.K) with weights other than 0")
    return {part: (moved[part] / size[part]) ** 0.5 for part in sorted(size)}
