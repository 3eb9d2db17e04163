"""What a recipe says of itself: the paper it comes from, and the claim that a run of it can confirm or refute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from handaxe.errors import InputError

__all__ = ["Claim", "Paper", "Recipe"]


@dataclass(frozen=True)
class Paper:
    """Where a recipe comes from.

    Args:
        title: the paper's title.
        short: the name people use, such as "OTC".
        arxiv: the arXiv id such as "2504.14870", or "" for what was published elsewhere or not at all.
        number: its number in the project's list of papers; None for a base algorithm.
    """

    title: str
    short: str
    arxiv: str = ""
    number: int | None = None


@dataclass(frozen=True)
class Claim:
    """What the paper says will happen, in a form that a run can decide.

    Args:
        statement: one sentence.
        metric: the name of the measure it is about, as evaluation reports it, such as "calls".
        direction: which way the paper moves that measure.
        baseline: the recipe it is compared with, "start" for the policy that the run starts from.
        same: a measure that stays where it is, "" for none; it stays where the 95 % intervals of both runs meet.
        note: what to know of the measured figures, "" for nothing.

    Raises:
        InputError: when the direction is neither up nor down, or `same` is the metric itself, or stands beside the
            baseline "start", for which there is one run and not two.
    """

    statement: str
    metric: str
    direction: Literal["up", "down"]
    baseline: str = "grpo"
    same: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.direction not in ("up", "down"):
            raise InputError(f"a claim goes up or down, not {self.direction!r}")
        if self.same and (self.same == self.metric or self.baseline == "start"):
            raise InputError(
                f"a claim that {self.same!r} stays needs another metric than that, and another run to compare with: "
                f"it has the metric {self.metric!r} and the baseline {self.baseline!r}"
            )


class Recipe(NamedTuple):
    """A recipe, loaded. `build(**configuration)` gives the keyword arguments of `training.loop.train`."""

    name: str
    build: Callable[..., dict[str, Any]]
    paper: Paper | None
    claim: Claim | None
    module: str
