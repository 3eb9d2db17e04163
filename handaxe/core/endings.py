"""What is done with an attempt, by the way it ended."""

from collections.abc import Mapping
from typing import Literal, get_args

from handaxe.core.errors import InputError
from handaxe.core.records import EndingKind

__all__ = ["DEFAULT", "NEVER_SCORED", "Treatment", "treatments"]

NEVER_SCORED = frozenset({"infra_error", "verifier_error"})
"""Endings that are never scored: the machinery failed, not the policy."""

Treatment = Literal["score", "mask", "retry", "drop_group"]

DEFAULT: Mapping[EndingKind, Treatment] = {
    "completed": "score",
    "truncated": "score",
    "policy_error": "score",
    "infra_error": "mask",
    "verifier_error": "mask",
}


def treatments(on_ending: Mapping[EndingKind, Treatment]) -> dict[EndingKind, Treatment]:
    """The treatment of every ending, the default where `on_ending` is silent.

        score       the reward sees it, group statistics count it, its tokens train
        mask        as score, but its tokens are left out of loss and denominators
        retry       attempted again with a seed of its own; once the retries are spent, as mask. A verifier_error
                    asks the reward again, about the same attempt
        drop_group  its whole group is kept in the record and used for nothing

    An infra_error or verifier_error is never scored, so "mask" takes it out of the group that reward and credit see.

    Raises:
        InputError: for an ending or a treatment that does not exist, or one that would score such an error.
    """
    for kind, treatment in on_ending.items():
        if kind not in DEFAULT or treatment not in get_args(Treatment):
            raise InputError(
                f"on_ending says {kind!r}: {treatment!r}; endings are {', '.join(DEFAULT)} and what is done with them "
                f"{', '.join(get_args(Treatment))}"
            )
        if kind in NEVER_SCORED and treatment == "score":
            raise InputError(f"on_ending would score {kind!r}, but a failure of the infrastructure is never a reward")
    return {**DEFAULT, **on_ending}
