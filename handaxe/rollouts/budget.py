"""What an attempt may use up, how much of it is left, and the words that tell a policy so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Usage

__all__ = [
    "Budget",
    "BudgetMessage",
    "Remaining",
    "SPEAKER",
    "budget_messages",
    "budgets",
    "describe_remaining",
    "remaining_of",
]

SPEAKER = "budget"
"""The name on the user messages that tell what is left: they are the library's words, not the environment's."""


@dataclass(frozen=True)
class Budget:
    """Bounds on one attempt, over all of its turns; None is no bound.

    tokens   that the policy samples, >= 1. A turn is cut where they end
    calls    well-formed calls, >= 0. Those of a turn that are beyond it are not carried out, and the attempt is over
    seconds  of sampling and tools, as the record has them, > 0. Looked at before each turn
    cost     of tools, and of sampling with an engine that has a price, in the unit they declare, > 0. Looked at before
             each turn

    An attempt that needs more ends truncated for "budget". One that ends by itself is completed, whatever it used.

    Example:
        linear(max_turns=8, budget=Budget(tokens=512, calls=3), tell_budget=True)

    Idea: bound what an attempt costs and not only its turns, and a policy that is told can learn to spend.
    """

    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        fits = (self.tokens is None or self.tokens >= 1) and (self.calls is None or self.calls >= 0)
        if not fits or any(x is not None and not x > 0 for x in (self.seconds, self.cost)):
            raise InputError(f"{self}: give tokens 1 or more, calls 0 or more, seconds and cost above 0, or None")


class Remaining(NamedTuple):
    """What is left, never below 0; None where there is no bound."""

    turns: int
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    cost: float | None = None

    @property
    def nothing(self) -> bool:
        """Whether no further turn may be begun for want of tokens, seconds or cost."""
        return 0 in (self.tokens, self.seconds, self.cost)


BudgetMessage = Callable[[Remaining], str]


def budgets(*, tokens: Sequence[int] = (), calls: Sequence[int] = ()) -> tuple[Budget, ...]:
    """Budgets of so many tokens and calls each, for a schedule such as `grown_limits`; of one that is left out there is
    no bound, and where both are, it is one budget without bounds.

    Raises:
        InputError: numbers out of range, or not as many of tokens as of calls.

    Example:
        budgets(tokens=(48, 96), calls=(4, 8)) is (Budget(tokens=48, calls=4), Budget(tokens=96, calls=8))
    """
    if tokens and calls and len(tokens) != len(calls):
        raise InputError(f"{len(tokens)} limits of tokens and {len(calls)} of calls: give as many of each")
    none: list[int | None] = [None] * max(len(tokens), len(calls), 1)
    return tuple(Budget(tokens=t, calls=c) for t, c in zip(tokens or none, calls or none))


def remaining_of(budget: Budget, spent: Usage, *, turns: int) -> Remaining:
    """What is left of a budget, never below 0, with so many turns to go."""
    return Remaining(
        turns,
        None if budget.tokens is None else max(0, budget.tokens - spent.tokens),
        None if budget.calls is None else max(0, budget.calls - spent.calls),
        None if budget.seconds is None else max(0.0, budget.seconds - spent.seconds),
        None if budget.cost is None else max(0.0, budget.cost - spent.cost),
    )


def describe_remaining(left: Remaining) -> str:
    """What is left, in plain words.

    Example:
        describe_remaining(Remaining(turns=1, seconds=2.5)) is "You have left: 1 turn, 2.5 seconds."
    """
    counts = [("turn", left.turns), ("token", left.tokens), ("call", left.calls)]
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
