"""Rewards calls that bring something new: redundant ones cost a right attempt, others pay a wrong one a little."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, ToolCall, Trajectory
from handaxe.ops.calls import call_key
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["redundant_calls"]


def redundant_calls(
    *,
    base: Reward,
    claim: Callable[[ToolCall], str | None] | None = None,
    verifications: int = 1,
    penalty: float = 1.0,
    floor: float = 0.5,
    novelty: float = 0.5,
    correct_above: float = 0.0,
) -> Reward:
    """Take from right attempts by the share of redundant calls, and pay wrong ones a little for the others.

        rho_i = #{redundant calls} / #{calls}                       0 without a call
        R_i   = max(1 - penalty * rho_i, floor)                     where base_i > correct_above
                novelty * (1 - rho_i) where it called, else 0       where not

    A call is redundant where it equals an earlier one (`ops.calls.call_key`), or looks at a claim that was looked at
    before and verified `verifications` times since. One that is neither is unique, or a verification of its claim.
    Well-formed calls count, whatever came of them.

    Args:
        base: what tells right from wrong.
        claim: what a call is to find out, such as a fact; None for a call that is about nothing in particular. Without
            it only equal calls are redundant.
        verifications: B_v, further calls about a claim that are no waste, >= 0: more of them steer to depth.
        penalty: > 0, how much a right attempt loses by a redundant share of 1.
        floor: least that a right attempt earns, at most 1.
        novelty: most that a wrong attempt earns, from 0 to `floor`: no wrong one earns more than a right one.
        correct_above: right is a base reward strictly above this.

    Returns:
        A reward with outcome [G] in [0, 1] and the channels "base" and "redundant", the share rho. Right attempts
        without a call earn 1.

    Raises:
        InputError: a number out of range, a base reward with per-turn values.

    Example:
        calls a, b, a, c: rho 0.25  ->  right 0.75, wrong 0.375;  a, a, a: rho 0.6667  ->  right 0.5 (its floor)
        a, b, c about one claim, verifications 1: rho 0.3333  ->  right 0.6667

    Paper: Fathom-DeepResearch (Fathom-Search-4B), its steerable step-level reward; from its README.
    Unconfirmed: the formula and its constants.
    Differs: labels are made by rule, where the paper asks a language model; searches and page visits have one share.
    """
    if verifications < 0 or penalty <= 0 or not 0 <= novelty <= floor <= 1:
        raise InputError(
            f"redundant_calls has verifications={verifications}, penalty={penalty}, floor={floor} and "
            f"novelty={novelty}; give 0 or more, above 0, and 0 <= novelty <= floor <= 1"
        )

    def share(trajectory: Trajectory) -> float:
        labels = _redundant(trajectory.calls, claim, verifications)
        return sum(labels) / len(labels) if labels else 0.0

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        right_G = outcome_only(parts["base"], "base").outcome > correct_above
        rho_G = parts["redundant"].outcome
        called_G = np.array([bool(one.calls) for one in group], bool)
        wrong = np.where(called_G, novelty * (1 - rho_G), 0.0)
        return Scores(np.where(right_G, np.maximum(1 - penalty * rho_G, floor), wrong))

    return Combined({"base": base, "redundant": outcome(share)}, merge)


def _redundant(calls: list[ToolCall], claim: Callable[[ToolCall], str | None] | None, verifications: int) -> list[bool]:
    """Of each call whether it is redundant."""
    made: set[str] = set()
    looks: dict[str, int] = {}
    found = []
    for call in calls:
        about = claim(call) if claim is not None else None
        used_up = about is not None and looks.get(about, 0) > verifications
        found.append(call_key(call) in made or used_up)
        made.add(call_key(call))
        if about is not None and not found[-1]:
            looks[about] = looks.get(about, 0) + 1
    return found
