"""Reward with a penalty for redundant calls of correct rollouts, and a bonus for useful calls of incorrect ones."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, ToolCall, Trajectory
from handaxe.ops.tool_calls import call_key
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
    """Reward correct rollouts by the share of useful calls, and incorrect ones a little for useful calls.

        rho_i = #{redundant calls} / #{calls}                       0 without a call
        R_i   = max(1 - penalty * rho_i, floor)                     if base_i > correct_above
                novelty * (1 - rho_i) with a call, else 0           otherwise

    A call is redundant if it equals an earlier one (`ops.tool_calls.call_key`), or concerns a claim that was looked up
    before and verified `verifications` times since. Other calls are unique, or a verification of their claim. All
    well-formed calls count, failed ones included.

    Args:
        base: reward that decides correctness.
        claim: claim that a call looks up, such as a fact; None for a call without one. Without it only equal calls are
            redundant.
        verifications: B_v, further calls about a claim that are not redundant, >= 0: higher values favour depth.
        penalty: > 0, reward that a redundant share of 1 takes from a correct rollout.
        floor: minimum reward of a correct rollout, at most 1.
        novelty: maximum reward of an incorrect rollout, from 0 to `floor`: no incorrect rollout earns more than a
            correct one.
        correct_above: a base reward above this is correct.

    Returns:
        A reward with outcome [G] in [0, 1] and the channels "base" and "redundant", the share rho. Correct rollouts
        without a call earn 1.

    Raises:
        InputError: a number out of range, a base reward with per-turn values.

    Example:
        calls a, b, a, c: rho 0.25  ->  correct 0.75, incorrect 0.375;  a, a, a: rho 0.6667  ->  correct 0.5 (its floor)
        a, b, c about one claim, verifications 1: rho 0.3333  ->  correct 0.6667

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), the steerable step-level reward of Fathom-Search-4B; from its README.
    Unconfirmed: the formula and its constants.
    Differs: a rule labels calls, where the paper asks a language model; searches and page visits have one share.
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
    """True for redundant calls."""
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
