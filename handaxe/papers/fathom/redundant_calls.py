"""Reward with a penalty for redundant calls of correct rollouts, and a bonus for useful calls of incorrect ones."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.papers.fathom.call_kinds import CallKinds, Kind
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["redundant_calls"]

KINDS: tuple[Kind, ...] = ("redundant", "unique", "exploration", "verification")


def redundant_calls(
    *,
    base: Reward,
    kinds: CallKinds,
    penalty: float = 1.0,
    floor: float = 0.5,
    novelty: float = 0.5,
    correct_above: float = 0.0,
) -> Reward:
    """Reward correct rollouts by the share of useful calls, and incorrect ones a little for useful calls.

        rho_i = #{redundant calls} / #{calls}                       0 without a call
        R_i   = max(1 - penalty * rho_i, floor)                     if base_i > correct_above
                novelty * (1 - rho_i) with a call, else 0           otherwise

    The kind of a call is that of `kinds`: searches are unique or redundant; page visits explore, verify within a
    budget, or are redundant. All well-formed calls count, failed ones included.

    Args:
        base: reward that decides correctness.
        kinds: labels of a judge, see `papers.fathom.call_kinds`.
        penalty: > 0, reward that a redundant share of 1 takes from a correct rollout.
        floor: minimum reward of a correct rollout, at most 1.
        novelty: maximum reward of an incorrect rollout, from 0 to `floor`: no incorrect rollout earns more than a
            correct one.
        correct_above: a base reward above this is correct.

    Returns:
        A reward with outcome [G] in [0, 1] and the channels "base", "redundant", the share rho, and "redundant/KIND",
        the shares of the other kinds. Correct rollouts without a call earn 1.

    Raises:
        InputError: a number out of range, a base reward with per-turn values. VerifierError: while scoring, a judge
            without an answer; the rollout is not scored.

    Example:
        unique, exploration, redundant, verification: rho 0.25  ->  correct 0.75, incorrect 0.375
        unique, redundant, redundant: rho 0.6667  ->  correct 0.5 (its floor)

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), the steerable step-level reward of Fathom-Search-4B; from its README.
    Unconfirmed: the formula and its constants.
    Differs: searches and page visits have one share.
    """
    if penalty <= 0 or not 0 <= novelty <= floor <= 1:
        raise InputError(
            f"redundant_calls has penalty={penalty}, floor={floor} and novelty={novelty}; give a penalty above 0, and "
            "0 <= novelty <= floor <= 1"
        )

    def shares(group: Group) -> Scores:
        labels = [kinds(one) if one.calls else [] for one in group]
        redundant_G, *other_KG = (
            np.array([own.count(kind) / max(1, len(own)) for own in labels], np.float64) for kind in KINDS
        )
        return Scores(redundant_G, channels=dict(zip(KINDS[1:], other_KG, strict=True)))

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        right_G = outcome_only(parts["base"], "base").outcome > correct_above
        rho_G = parts["redundant"].outcome
        called_G = np.array([bool(one.calls) for one in group], bool)
        wrong = np.where(called_G, novelty * (1 - rho_G), 0.0)
        return Scores(np.where(right_G, np.maximum(1 - penalty * rho_G, floor), wrong))

    return Combined({"base": base, "redundant": shares}, merge)
