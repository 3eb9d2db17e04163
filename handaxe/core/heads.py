"""Options of a head: a small network from a policy's hidden states to scores, such as a reward model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handaxe.core.errors import InputError

__all__ = ["HEAD", "Head", "head_measure"]

HEAD = "head/"
"""Prefix of a head's measure: `forward(names=("head/NAME",))`."""


@dataclass(frozen=True)
class Head:
    """A head on the hidden states of an engine's model.

    Args:
        outputs: scores a token.
        hidden: widths of hidden layers with SiLU; () for a linear head.
        at: "after" reads the state that has seen token t, as a reward model does; "before" reads the state from which
            token t is sampled, as a critic does.
        trunk: "trained" passes the gradient on to the model; "frozen" trains the head alone.
        init: last layer at 0, or "normal" with standard deviation 1 / sqrt(width).
        seed: of the initialization; torch's random state is not used.

    Raises:
        InputError: no output, a width below 1, or another word.

    Example:
        Head(outputs=5, hidden=(64,)) on a model of width 128: layers 128 -> 64 -> 5
    """

    outputs: int = 1
    hidden: tuple[int, ...] = ()
    at: Literal["before", "after"] = "after"
    trunk: Literal["trained", "frozen"] = "trained"
    init: Literal["zeros", "normal"] = "zeros"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.outputs < 1 or any(width < 1 for width in self.hidden):
            raise InputError(f"a head has 1 output or more, and hidden layers of 1 or more: {self}")
        for name, words in (
            ("at", ("before", "after")),
            ("trunk", ("trained", "frozen")),
            ("init", ("zeros", "normal")),
        ):
            if getattr(self, name) not in words:
                raise InputError(f"{name} of a head is {' or '.join(words)}, not {getattr(self, name)!r}")


def head_measure(name: str) -> str:
    """Name of a head's measure."""
    return HEAD + name
