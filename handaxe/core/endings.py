"""Endings of a rollout: which are scored, and how a step treats each."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from handaxe.core.errors import InputError
from handaxe.core.records import STOPPED, Ending, EndingKind

__all__ = ["DEFAULT", "ENDINGS", "EndingRule", "NEVER_SCORED", "Treatment", "treatments", "unscored_reason"]

Treatment = Literal["score", "mask", "retry", "drop_group"]
"""score       reward, group statistics and loss use the rollout
mask        as score, but the rollout's tokens are left out of loss and denominators
retry       the rollout is played again with another seed; after the last retry it is masked. A verifier_error calls the
            reward again on the same trajectory
drop_group  the whole group is recorded and not used

For an ending that is never scored, "mask" removes the rollout from the group before reward and credit."""


class EndingRule(NamedTuple):
    """Rule for a kind of ending: default treatment, and permission for rewards to score the rollout."""

    treatment: Treatment
    scored: bool = True


ENDINGS: Mapping[EndingKind, EndingRule] = {
    "completed": EndingRule("score"),
    "truncated": EndingRule("score"),
    "policy_error": EndingRule("score"),
    "infra_error": EndingRule("mask", scored=False),
    "verifier_error": EndingRule("mask", scored=False),
}
"""Rule per kind of ending. A stopped rollout (`STOPPED`, truncated) is never scored either."""

DEFAULT: Mapping[EndingKind, Treatment] = {kind: rule.treatment for kind, rule in ENDINGS.items()}
"""Default treatment of each ending."""

NEVER_SCORED: frozenset[EndingKind] = frozenset(kind for kind, rule in ENDINGS.items() if not rule.scored)
"""Infrastructure failures. Rewards never score them."""


def unscored_reason(ending: Ending) -> str:
    """Name the reason that keeps an ending from being scored; "" for a scorable ending.

    Example:
        Ending("infra_error", "the sandbox died") -> "infra_error"; STOPPED -> "stopped"; Ending("completed") -> ""
    """
    if ending == STOPPED:
        return "stopped"
    return "" if ENDINGS[ending.kind].scored else ending.kind


def treatments(on_ending: Mapping[EndingKind, Treatment]) -> dict[EndingKind, Treatment]:
    """Complete `on_ending` with the default treatment of every missing ending.

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
