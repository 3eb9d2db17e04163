"""Whether the reward says the same when it is asked again, and whether what it says gives a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, unchecked
from handaxe.errors import HandaxeError
from handaxe.records import Group, Scores
from handaxe.rewards.parts.scoring import score_group
from handaxe.slots import Reward
from handaxe.training.rate import rewinder
from handaxe.training.record.groups import GroupRecord
from handaxe.training.watch import why_flat

__all__ = ["check_same_twice", "check_zero_gradient", "expected_equal"]

SAME = 1e-9
"""Scores that differ by less are equal: rounding that depends on the order of siblings is no fault."""
ENOUGH = 16
"""Attempts, of two groups at least, from which on it is wrong when none gives a gradient; with fewer it may be luck."""


def check_same_twice(reward: Reward, groups: Sequence[GroupRecord]) -> Finding:
    """Whether a reward that is asked again, from the same state, says the same of the same attempts; and the same with
    the siblings in another order, which is only looked at."""
    shown = [_shown(one) for one in groups if one.scored.any()]
    if not shown:
        return unchecked("reward twice", "nothing was scored")
    apart, moved = list[float](), list[float]()
    rewind, attempts = rewinder(reward), 0
    try:
        for group in shown:
            turned = replace(group, trajectories=group.trajectories[::-1])
            first, again = _asked(reward, group, rewind), _asked(reward, group, rewind)
            backwards = _asked(reward, turned, rewind)[::-1]
            apart.append(_most(first, again))
            moved.append(_most(first, backwards))
            attempts += len(group)
    except HandaxeError as error:
        rewind()
        return unchecked("reward twice", f"it fails when it is asked again: {error}")
    figures = {"attempts": float(attempts), "most": max(apart), "most_in_another_order": max(moved)}
    if max(apart) > SAME:
        return Finding(
            "reward twice",
            "wrong",
            f"asked twice about {attempts} attempts, the reward differs by up to {max(apart):.3g}",
            "seed what it draws, ask a judge at temperature 0, or keep what it said: noise in a reward is learned",
            figures,
        )
    if max(moved) > SAME:
        return Finding(
            "reward twice",
            "look",
            f"with siblings in another order, the reward differs by up to {max(moved):.3g}",
            "nothing should depend on which sibling comes first",
            figures,
        )
    return Finding("reward twice", "ok", f"says the same of {attempts} attempts when asked again", figures=figures)


def _shown(one: GroupRecord) -> Group:
    kept = tuple(t for t, scored in zip(one.group, one.scored, strict=True) if scored)
    return replace(one.group, trajectories=kept)


def _asked(reward: Reward, group: Group, rewind: object) -> np.ndarray:
    """[G] what each earns in all, with the reward's state as it was before."""
    scores = score_group(reward, group)[1]
    if callable(rewind):
        rewind()
    return _totals(scores)


def _totals(scores: Scores) -> np.ndarray:
    turns = scores.turns or [np.zeros(0)] * len(scores.outcome)
    return scores.outcome + np.array([float(np.sum(own)) for own in turns])


def _most(first: np.ndarray, second: np.ndarray) -> float:
    """The largest difference; infinite where one of them could be scored and the other not."""
    if not np.array_equal(np.isnan(first), np.isnan(second)):
        return float("inf")
    return float(np.nanmax(np.abs(first - second), initial=0.0)) if len(first) else 0.0


def expected_equal(values: Sequence[float], group_size: int) -> float:
    """The chance that all attempts of a group score alike, if every task were as hard as every other.

        sum over scores v of p_v ^ G,   p_v the share of attempts that score v;  for right and wrong, where p is the
        pass rate, the binomial p^G + (1 - p)^G

    Tasks differ, and p^G is convex: the share that is measured is mostly larger, never smaller in expectation.

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
    rated = [one for one in groups if one.scores is not None and one.scored.any() and one.fate != "surplus"]
    if not rated:
        return unchecked("zero gradient", "nothing was scored")
    totals = [_totals(one.scores) for one in rated if one.scores is not None]
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


def _gives(one: GroupRecord) -> bool:
    """Whether an advantage of something that trains is not 0."""
    if one.advantages is None:
        return False
    trained = one.trained[one.scored]
    return any(np.any(array) for own, kept in zip(one.advantages.tokens, trained) if kept for array in own)


def _why(rated: Sequence[GroupRecord]) -> str:
    seen = [one for one in rated if one.advantages is not None]
    return why_flat(seen) if seen else "every group was left out by selection: see which scores it asks for"
