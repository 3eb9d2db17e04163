"""Checks of the reward: determinism, and the share of groups without a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import RatedGroup, ScoredGroup
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, not_checked
from handaxe.evaluation.agreement import SAME
from handaxe.evaluation.rescoring import determinism, scored_groups
from handaxe.ops.ragged import group_rewards
from handaxe.training.loop.watch import why_flat
from handaxe.training.record.groups import RecordedGroup, group_fate

__all__ = ["check_determinism", "check_zero_gradient", "expected_equal"]

ENOUGH = 16
"""Minimum number of rollouts, in two groups or more, for an error if no group has a gradient; fewer only warn."""


def check_determinism(reward: Reward, groups: Sequence[RecordedGroup]) -> Finding:
    """Check that the reward gives equal scores when called again on the same groups from the same state.

    A dependence on the order of siblings gives a warning.
    """
    scored = _scored(groups)
    if not scored:
        return not_checked("reward determinism", "no group was scored")
    found = determinism(reward, [group for group, _ in scored_groups(scored)])
    if found.failed:
        return not_checked("reward determinism", f"the second call of the reward fails: {found.failed}")
    figures = {name: float(getattr(found, name)) for name in ("groups", "repeated", "reordered", "largest")}
    if found.repeated:
        return Finding(
            "reward determinism",
            "error",
            f"a second call gives other scores for {found.repeated} of {found.groups} groups; they differ by up to "
            f"{found.largest:.3g}",
            "seed the random draws of the reward, sample a judge at temperature 0, or cache verdicts: reward noise is "
            "learned",
            figures,
        )
    if found.reordered:
        return Finding(
            "reward determinism",
            "warning",
            f"with siblings in another order, the reward differs by up to {found.largest:.3g}",
            "make the reward independent of the order of siblings",
            figures,
        )
    return Finding(
        "reward determinism", "ok", f"a second call gives the same scores for {found.groups} groups", figures=figures
    )


def expected_equal(values: Sequence[float] | np.ndarray, group_size: int) -> float:
    """Probability that all rollouts of a group score equally if all tasks are equally hard.

        sum over scores v of p_v ^ G,   p_v: share of rollouts with score v
        for correct and incorrect at pass rate p: the binomial p^G + (1 - p)^G

    Tasks differ and p^G is convex: over many rollouts the measured share is at least as large.

    Args:
        values: scores of rollouts; scores equal up to rounding count as one value.
        group_size: G >= 1.

    Example:
        ([1, 0, 0, 0], 8) -> 0.25^8 + 0.75^8 = 0.1001
    """
    _, counts = np.unique(np.round(np.asarray(values, float), 9), return_counts=True)
    return float(((counts / counts.sum()) ** group_size).sum())


def check_zero_gradient(
    groups: Sequence[RecordedGroup], *, group_size: int, trains: bool = True, limits: Thresholds = THRESHOLDS
) -> Finding:
    """Grade the share of groups without a gradient; report it beside the expected share (`expected_equal`) and the
    spread of scores within groups.

    A group has no gradient if every trained advantage is 0, because of equal scores or because selection dropped the
    group. Error if no group has a gradient; warning above limits.zero_gradient.

    Args:
        groups: records of the trial steps; surplus groups are ignored.
        group_size: rollouts of a group.
        trains: False for a run that trains no policy.
    """
    rated = [one for one in _scored(groups) if group_fate(one) != "surplus"]
    if not rated:
        return not_checked("zero gradient", "no group was scored")
    totals = [group_rewards(group, scores) for group, scores in scored_groups(rated)]
    rollouts = sum(map(len, totals))
    spread = float(np.mean([float(own.std()) for own in totals]))
    flat = sum(float(np.ptp(own)) <= SAME for own in totals)
    none = sum(not _has_gradient(one) for one in rated)
    expected = expected_equal(np.concatenate(totals), group_size)
    share = none / len(rated)
    figures = {
        "groups": float(len(rated)),
        "rollouts": float(rollouts),
        "reward": float(np.concatenate(totals).mean()),
        "spread": spread,
        "equal": flat / len(rated),
        "expected": expected,
        "none": share,
    }
    found = (
        f"{none} of {len(rated)} groups of {group_size} have no gradient ({share:.0%}); scores are equal in "
        f"{flat / len(rated):.0%}, expected {expected:.0%} if all tasks were equally hard; mean reward "
        f"{figures['reward']:.3g}, standard deviation within groups {spread:.3g}"
    )
    if not trains:
        return Finding("zero gradient", "ok", f"the run trains no policy; {found}", figures=figures)
    if none == len(rated):
        enough = len(rated) > 1 and rollouts >= ENOUGH
        return Finding("zero gradient", "error" if enough else "warning", found, _remedy(rated), figures)
    if share > limits.zero_gradient:
        return Finding(
            "zero gradient",
            "warning",
            found,
            "most rollouts give no gradient: use larger groups, tasks of medium difficulty (selection), or a policy "
            "that succeeds more often",
            figures,
        )
    return Finding("zero gradient", "ok", found, figures=figures)


def _scored(groups: Sequence[RecordedGroup]) -> list[ScoredGroup | RatedGroup]:
    return [one for one in groups if isinstance(one, ScoredGroup | RatedGroup)]


def _has_gradient(one: ScoredGroup | RatedGroup) -> bool:
    """Return True if a trained advantage differs from 0."""
    if not isinstance(one, RatedGroup):
        return False
    return any(np.any(array) for own, kept in zip(one.advantages.tokens, one.trained) if kept for array in own)


def _remedy(rated: Sequence[RecordedGroup]) -> str:
    kept = [one for one in rated if isinstance(one, RatedGroup)]
    return why_flat(kept) if kept else "selection dropped every group: compare the scores with its condition"
