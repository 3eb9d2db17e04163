"""Weighted sum of credits."""

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["total"]

Weight = float | Callable[[int], float]
Ragged = tuple[tuple[np.ndarray, ...], ...]


def total(parts: Mapping[str, tuple[Weight, Credit]]) -> Credit:
    """Add several credits with weights, token by token.

        A_i,t = sum_k w_k(step) * A_k,i,t        over the parts k that train token t

    A token trains if any part trains it, and a part adds nothing at tokens that it does not train. Value targets come
    from the part that has them, without its weight: the critic learns returns, independent of their weight in the
    policy. A part with separate channels is refused: put `papers.hdpo.per_channel` around the total.

    Args:
        parts: name -> (weight, credit). A weight may be a function of the training step, `group.step`.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. It is Stateful; its state holds that of its
        stateful parts by name.

    Raises:
        InputError: no part, a weight that is not finite, two parts with value targets (there is one critic), or a part
            with channels.

    Example:
        rewards 1, 0 and a channel "speed" of 1, 3; std None, weights 1 and 0.5:
        1 * (0.5, -0.5) + 0.5 * (-1, 1)  ->  0, 0        with weights 1 and 0.25  ->  0.25, -0.25

    Idea: parts normalized separately keep their own scale; a sum of rewards is divided by one std.
    Differs: nothing.
    """
    if not parts:
        raise InputError("a total of credits needs at least one part")
    for name, (weight, _) in parts.items():
        if not callable(weight):
            _finite(name, weight)
    return _Total(dict(parts))


class _Total(StatefulComposite):
    def __init__(self, parts: dict[str, tuple[Weight, Credit]]):
        self._parts = parts

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        tokens = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
        returns: Ragged | None = None
        trains: list[Ragged | None] = []
        critic = ""
        for name, (weight, credit) in self._parts.items():
            factor = _finite(name, weight(group.step) if callable(weight) else weight)
            found = credit(group, scores)
            if found.channels:
                raise InputError(f"credit {name!r} has channels: put per_channel around the total, not into it")
            for i, own in enumerate(found.tokens):
                for s, values in enumerate(own):
                    tokens[i][s][:] += factor * (values if found.trains is None else values * found.trains[i][s])
            trains.append(found.trains)
            if found.returns is None:
                continue
            if critic:
                raise InputError(f"credits {critic!r} and {name!r} both have value targets, and there is one critic")
            critic, returns = name, found.returns
        return Advantages(tokens, returns, _any(trains))

    def parts(self) -> Mapping[str, object]:
        return {name: credit for name, (_, credit) in self._parts.items()}


def _finite(name: str, weight: float) -> float:
    if not np.isfinite(weight):
        raise InputError(f"the weight of credit {name!r} is {weight}; give a finite number")
    return float(weight)


def _any(trains: list[Ragged | None]) -> Ragged | None:
    """Tokens trained by at least one part; None, for all tokens, if a part trains all."""
    masks = [one for one in trains if one is not None]
    if len(masks) < len(trains):
        return None
    return tuple(
        tuple(np.logical_or.reduce(arrays) for arrays in zip(*members, strict=True))
        for members in zip(*masks, strict=True)
    )
