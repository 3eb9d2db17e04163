"""Whether the reward says the same when it is asked again, and whether what it says gives a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, unchecked
from handaxe.evaluation.agreement import SAME
from handaxe.evaluation.rescoring import determinism, scored_groups
from handaxe.ops.ragged import rewards_of
from handaxe.training.loop.watch import why_flat
from handaxe.training.record.groups import GroupRecord

__all__ = ["check_same_twice", "check_zero_gradient", "expected_equal"]

ENOUGH = 16
"""Attempts, of two groups at least, from which on it is wrong when none gives a gradient; with fewer it may be luck."""


def check_same_twice(reward: Reward, groups: Sequence[GroupRecord]) -> Finding:
    """Whether a reward that is asked again, from the same state, says the same of the same attempts; and the same with
    the siblings in another order, which is only looked at."""
    scored = _scored(groups)
    if not scored:
        return unchecked("reward twice", "nothing was scored")
    found = determinism(reward, [group for group, _ in scored_groups(scored)])
    if found.failed:
        return unchecked("reward twice", f"it fails when it is asked again: {found.failed}")
    figures = {name: float(getattr(found, name)) for name in ("groups", "twice", "reordered", "worst")}
    if found.twice:
        return Finding(
            "reward twice",
            "wrong",
            f"asked again, the reward says something else of {found.twice} of {found.groups} groups; it differs by up "
            f"to {found.worst:.3g}",
            "seed what it draws, ask a judge at temperature 0, or keep what it said: noise in a reward is learned",
            figures,
        )
    if found.reordered:
        return Finding(
            "reward twice",
            "look",
            f"with siblings in another order, the reward differs by up to {found.worst:.3g}",
            "nothing should depend on which sibling comes first",
            figures,
        )
    return Finding("reward twice", "ok", f"says the same of {found.groups} groups when asked again", figures=figures)


def expected_equal(values: Sequence[float], group_size: int) -> float:
    """The chance that all attempts of a group score alike, if every task were as hard as every other.

        sum over scores v of p_v ^ G,   p_v the share of attempts that score v;  for right and wrong, where p is the
        pass rate, the binomial p^G + (1 - p)^G

    Tasks differ, and p^G is convex: over many attempts the share that is measured is at least as large.

    Args:
        values: scores of attempts; those equal up to rounding are one.
        group_size: G >= 1.

    Example:
        ([1, 0, 0, 0], 8) -> 0.25^8 + 0.75^8 = 0.1001
    """
    _, counts = np.unique(np.round(np.asarray(values, float), 9), return_counts=True)
    return float(((counts / counts.sum()) ** group_size).sum())


def check_zero_gradient(
    groups: Sequence[GroupRecord], *, group_size: int, trains: bool = True, limits: Thresholds = THRESHOLDS
) -> Finding:
    """How much scores vary within groups, and the share of groups that give no gradient, beside what the shares of the
    scores lead one to expect (`expected_equal`).

    A group gives none where no advantage that trains differs from 0, be it for equal scores or since selection left it
    out. Wrong where no group gives any; to look at above limits.zero_gradient.

    Args:
        groups: as their steps left them; surplus ones are left out.
        group_size: attempts of a group.
        trains: whether the policy is to learn at all.
    """
    rated = [one for one in _scored(groups) if one.fate != "surplus"]
    if not rated:
        return unchecked("zero gradient", "nothing was scored")
    totals = [rewards_of(group, scores) for group, scores in scored_groups(rated)]
    attempts = sum(map(len, totals))
    spread = float(np.mean([float(own.std()) for own in totals]))
    flat = sum(float(np.ptp(own)) <= SAME for own in totals)
    none = sum(not _gives(one) for one in rated)
    expected = expected_equal(np.concatenate(totals), group_size)
    share = none / len(rated)
    figures = {
        "groups": float(len(rated)),
        "attempts": float(attempts),
        "reward": float(np.concatenate(totals).mean()),
        "spread": spread,
        "equal": flat / len(rated),
        "expected": expected,
        "none": share,
    }
    found = (
        f"{none} of {len(rated)} groups of {group_size} give no gradient ({share:.0%}); scores are equal in "
        f"{flat / len(rated):.0%}, and would be in {expected:.0%} if all tasks were equally hard; mean reward "
        f"{figures['reward']:.3g}, deviation within groups {spread:.3g}"
    )
    if not trains:
        return Finding("zero gradient", "ok", f"nothing is to be learned; {found}", figures=figures)
    if none == len(rated):
        enough = len(rated) > 1 and attempts >= ENOUGH
        return Finding("zero gradient", "wrong" if enough else "look", found, f"{_why(rated)}", figures)
    if share > limits.zero_gradient:
        return Finding(
            "zero gradient",
            "look",
            found,
            "most of what is played teaches nothing: play larger groups, choose tasks of middling difficulty "
            "(selection), or begin from a policy that succeeds more often",
            figures,
        )
    return Finding("zero gradient", "ok", found, figures=figures)


def _scored(groups: Sequence[GroupRecord]) -> list[GroupRecord]:
    return [one for one in groups if one.scores is not None and one.scored.any()]


def _gives(one: GroupRecord) -> bool:
    """Whether an advantage of something that trains is not 0."""
    if one.advantages is None:
        return False
    trained = one.trained[one.scored]
    return any(np.any(array) for own, kept in zip(one.advantages.tokens, trained) if kept for array in own)


def _why(rated: Sequence[GroupRecord]) -> str:
    seen = [one for one in rated if one.advantages is not None]
    return why_flat(seen) if seen else "every group was left out by selection: see which scores it asks for"
