"""Resource budget of a rollout, the remaining part, and user messages about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.core.usage import Usage

__all__ = [
    "Budget",
    "BudgetMessage",
    "Remaining",
    "SPEAKER",
    "budget_messages",
    "budgets",
    "describe_remaining",
    "remaining_budget",
]

SPEAKER = "budget"
"""Name of user messages about the remaining budget, which come from the library and not from the environment."""


@dataclass(frozen=True)
class Budget:
    """Resource limits of one rollout, over all turns; None is unlimited.

    tokens   sampled tokens, >= 1. The turn is cut at the limit
    calls    well-formed calls, >= 0. Calls beyond the limit are not executed, and the rollout ends
    seconds  of sampling and tools, as recorded, > 0. Checked before each turn
    cost     of tools, and of sampling with a priced engine, in their unit, > 0. Checked before each turn
    images   of tool results, >= 0. The policy does not read a result beyond the limit, and the rollout ends
    image_tokens    of these images, >= 0; as images. A policy without vision reads none

    A rollout that needs more ends truncated for "budget". A rollout that ends by itself is completed, at any usage.

    Example:
        linear(max_turns=8, budget=Budget(tokens=512, calls=3), tell_budget=True)

    Idea: bound a rollout's cost as well as its turns; a policy that reads its budget can learn to use it.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost: float | None = None
    images: int | None = None
    image_tokens: int | None = None

    def __post_init__(self) -> None:
        counts = (self.calls, self.images, self.image_tokens)
        fits = (self.tokens is None or self.tokens >= 1) and all(x is None or x >= 0 for x in counts)
        if not fits or any(x is not None and not x > 0 for x in (self.seconds, self.cost)):
            raise InputError(
                f"{self}: give tokens 1 or more, calls, images and image_tokens 0 or more, seconds and cost above 0, "
                "or None"
            )

    def overdrawn_by_images(self, spent: Usage) -> bool:
        """True if tool results had more images or image tokens than the budget allows."""
        return (self.images is not None and spent.images > self.images) or (
            self.image_tokens is not None and spent.image_tokens > self.image_tokens
        )


class Remaining(NamedTuple):
    """Remaining limits, never below 0; None is unlimited."""

    turns: int
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost: float | None = None
    images: int | None = None
    image_tokens: int | None = None

    @property
    def nothing(self) -> bool:
        """True if no tokens, seconds or cost remain for another turn."""
        return 0 in (self.tokens, self.seconds, self.cost)


BudgetMessage = Callable[[Remaining], str]


def budgets(*, tokens: Sequence[int] = (), calls: Sequence[int] = ()) -> tuple[Budget, ...]:
    """Make one budget per element, for a schedule such as `grown_limits`. A missing list sets no limit; two missing
    lists give one unlimited budget.

    Raises:
        InputError: numbers out of range, or lists of unequal length.

    Example:
        budgets(tokens=(48, 96), calls=(4, 8)) is (Budget(tokens=48, calls=4), Budget(tokens=96, calls=8))
    """
    if tokens and calls and len(tokens) != len(calls):
        raise InputError(f"{len(tokens)} limits of tokens and {len(calls)} of calls: give as many of each")
    none: list[int | None] = [None] * max(len(tokens), len(calls), 1)
    return tuple(Budget(tokens=t, calls=c) for t, c in zip(tokens or none, calls or none))


def remaining_budget(budget: Budget, spent: Usage, *, turns: int) -> Remaining:
    """Return the remaining part of a budget, never below 0, with `turns` turns left."""
    return Remaining(
        turns,
        None if budget.tokens is None else max(0, budget.tokens - spent.tokens),
        None if budget.calls is None else max(0, budget.calls - spent.calls),
        None if budget.seconds is None else max(0.0, budget.seconds - spent.seconds),
        None if budget.cost is None else max(0.0, budget.cost - spent.cost),
        None if budget.images is None else max(0, budget.images - spent.images),
        None if budget.image_tokens is None else max(0, budget.image_tokens - spent.image_tokens),
    )


def describe_remaining(left: Remaining) -> str:
    """Describe remaining limits in plain words.

    Example:
        describe_remaining(Remaining(turns=1, seconds=2.5)) is "You have left: 1 turn, 2.5 seconds."
    """
    counts = [("turn", left.turns), ("token", left.tokens), ("call", left.calls)]
    counts += [("image", left.images), ("image token", left.image_tokens)]
    words = [f"{n} {name}{'' if n == 1 else 's'}" for name, n in counts if n is not None]
    if left.seconds is not None:
        words.append(f"{left.seconds:.1f} seconds")
    if left.cost is not None:
        words.append(f"a cost of {left.cost:.4g}")
    return f"You have left: {', '.join(words)}."


def budget_messages(tell: bool | BudgetMessage, remaining: Remaining) -> list[Message]:
    """Make the user message with the remaining budget; [] if `tell` is False."""
    if tell is False:
        return []
    text = (describe_remaining if tell is True else tell)(remaining)
    return [Message("user", text, name=SPEAKER)]
