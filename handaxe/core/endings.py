"""Endings of a rollout: which are scored, and how a step treats each."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from handaxe.core.errors import InputError
from handaxe.core.records import STOPPED, Ending, EndingKind

__all__ = ["DEFAULT", "ENDINGS", "EndingRule", "NEVER_SCORED", "Treatment", "treatments", "unscored_reason"]

Treatment = Literal["score", "mask", "retry", "drop_group"]
"""score       reward, group statistics and loss use the rollout
mask        as score, but its tokens are left out of loss and denominators
retry       the rollout is played again under another seed; after the last retry it is masked. A verifier_error calls
the
            reward again on the same trajectory
drop_group  the whole group is recorded and not used

"mask" of an ending that is never scored takes the rollout out of the group before reward and credit."""


class EndingRule(NamedTuple):
    """Rule for one kind of ending: its default treatment, and whether a reward may score it."""

    treatment: Treatment
    scored: bool = True


ENDINGS: Mapping[EndingKind, EndingRule] = {
    "completed": EndingRule("score"),
    "truncated": EndingRule("score"),
    "policy_error": EndingRule("score"),
    "infra_error": EndingRule("mask", scored=False),
    "verifier_error": EndingRule("mask", scored=False),
}
"""The rule of each ending. A truncated rollout that was stopped (`STOPPED`) is never scored either."""

DEFAULT: Mapping[EndingKind, Treatment] = {kind: rule.treatment for kind, rule in ENDINGS.items()}
"""Default treatment of each ending."""

NEVER_SCORED: frozenset[EndingKind] = frozenset(kind for kind, rule in ENDINGS.items() if not rule.scored)
"""Failures of the infrastructure. No reward scores them."""


def unscored_reason(ending: Ending) -> str:
    """Name the reason for which an ending is never scored; "" for an ending that a reward may score.

    Example:
        Ending("infra_error", "the sandbox died") -> "infra_error"; STOPPED -> "stopped"; Ending("completed") -> ""
    """
    if ending == STOPPED:
        return "stopped"
    return "" if ENDINGS[ending.kind].scored else ending.kind


def treatments(on_ending: Mapping[EndingKind, Treatment]) -> dict[EndingKind, Treatment]:
    """Fill in the default treatment of every ending that `on_ending` lacks.

    Raises:
        InputError: an ending or treatment is unknown, or an ending that is never scored has the treatment "score".
    """
    for kind, treatment in on_ending.items():
        if kind not in ENDINGS or treatment not in get_args(Treatment):
            raise InputError(
                f"on_ending has {kind!r}: {treatment!r}; endings are {', '.join(ENDINGS)}, treatments "
                f"{', '.join(get_args(Treatment))}"
            )
        if treatment == "score" and not ENDINGS[kind].scored:
            raise InputError(f"on_ending scores {kind!r}, but a failure of the infrastructure is never a reward")
    return {**DEFAULT, **on_ending}
