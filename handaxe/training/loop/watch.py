"""Warnings for steps without learning: unscorable rollouts, and groups without advantages."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import UnscoredError
from handaxe.core.records import PlayedGroup, RatedGroup, Scores, Trajectory
from handaxe.training.loop.tool_watch import tool_warnings
from handaxe.training.record.groups import RecordedGroup

__all__ = ["Watch", "check_scored", "failed_share", "why_flat"]

PATIENCE = 3
"""Consecutive steps without an advantage before the warning."""
MOST = 300
"""Maximum characters of an error in a warning."""


def check_scored(groups: Sequence[RatedGroup | PlayedGroup]) -> None:
    """Raise UnscoredError, with the first error, if tools or reward failed and no rollout of the groups has a score.
    Rollouts without a score for other reasons are no error.
    """
    rollouts = [trajectory for one in groups for trajectory in one.played.group]
    failed = [one for one in rollouts if one.ending.kind in NEVER_SCORED]
    if failed and all(isinstance(one, PlayedGroup) for one in groups):
        raise UnscoredError(
            f"none of its {len(rollouts)} rollouts could be scored; the first ended as {failed[0].ending.kind}: "
            f"{_shortened(failed[0].ending.reason)}"
        )


class Watch:
    """Checks every finished step, and gives each warning once.

    Args:
        say: shows a warning.
    """

    def __init__(self, say: Callable[[str], None]):
        self._say = say
        self._given = set[str]()
        self._flat = list[list[RatedGroup]]()

    def __call__(self, step: int, groups: Sequence[RecordedGroup], *, trains: bool) -> None:
        """Check the groups of a step.

        Args:
            step: counted from 0.
            groups: all groups of the step.
            trains: True if the policy should learn from them.
        """
        rollouts = [trajectory for one in groups for trajectory in one.played.group]
        for kind in sorted(NEVER_SCORED - self._given):
            failed = [one for one in rollouts if one.ending.kind == kind]
            if failed:
                self._given.add(kind)
                self._say(
                    f"{kind}: {len(failed)} of {len(rollouts)} rollouts of step {step + 1} could not be scored, and "
                    f"the policy learns from the others alone. The first: {_shortened(failed[0].ending.reason)}"
                )
        for key, text in tool_warnings(rollouts, step):
            if key not in self._given:
                self._given.add(key)
                self._say(text)
        rated = [one for one in groups if isinstance(one, RatedGroup)]
        if rated and trains:
            self._flat = [*self._flat, rated] if all(_is_flat(one) for one in rated) else []
        if len(self._flat) >= PATIENCE and "flat" not in self._given:
            self._given.add("flat")
            self._say(
                f"nothing is learned: in {PATIENCE} steps, {step + 2 - PATIENCE} to {step + 1}, every advantage was 0. "
                + why_flat([one for groups in self._flat for one in groups])
            )
        self._flat = self._flat[-PATIENCE:]


def failed_share(groups: Sequence[RecordedGroup]) -> dict[str, float]:
    """Share of rollouts that ended in a failure of the infrastructure, by ending; without endings of share 0."""
    counts = Counter[str](trajectory.ending.kind for one in groups for trajectory in one.played.group)
    return {kind: counts[kind] / counts.total() for kind in sorted(NEVER_SCORED) if counts[kind]}


def why_flat(groups: Sequence[RatedGroup]) -> str:
    """Explain groups in which every advantage is 0, and name a remedy.

    Args:
        groups: at least one.
    """
    outcomes = [_totals(one.scores) for one in groups]
    if all(len(outcome) < 2 for outcome in outcomes):
        return "Each group has one scored rollout, which has no sibling to compare with: play larger groups"
    if any(np.ptp(outcome) > 0 for outcome in outcomes):
        return (
            "Scores differ within groups, but the credit makes no difference of them: see which channel it reads, and "
            "which rollouts it counts"
        )
    scored = [trajectory for one in groups for trajectory in one.group]
    if all(turn.sampling.temperature == 0 for one in scored for turn in one.turns):
        return "Rollouts are sampled at temperature 0, so siblings are equal: sample at a temperature of 1"
    values = sorted({float(outcome[0]) for outcome in outcomes})
    if len(values) > 1:
        return (
            f"Siblings always score equally: {_count(outcomes, values[-1])} groups all scored {values[-1]:.3g}, "
            f"{_count(outcomes, values[0])} all {values[0]:.3g}. Play larger groups, or tasks that succeed now and then"
        )
    if values[0] > 0:
        return (
            f"All {len(scored)} rollouts scored {values[0]:.3g}: take harder tasks, or a reward that separates good "
            "rollouts"
        )
    return f"All {len(scored)} rollouts scored {values[0]:.3g}: {_why_wrong(scored)}"


def _why_wrong(scored: Sequence[Trajectory]) -> str:
    """Explain from the rollouts why none is correct."""
    cut = sum(one.ending.kind == "truncated" and one.ending.reason == "length" for one in scored)
    if 2 * cut >= len(scored):
        return f"{cut} were cut at their limit of tokens: allow more tokens a turn, or teach shorter rollouts"
    offered = [one for one in scored if one.tools]
    malformed = sum(any(turn.parsed.errors for turn in one.turns) for one in offered)
    if offered and not any(one.calls for one in offered):
        what = f"{malformed} made a malformed call and none a good one" if malformed else "none of them called a tool"
        return f"{what}. A call that is never made is never rewarded: teach the tools first, see `handaxe start --help`"
    return "take easier tasks, reward partial success, or teach the policy from demonstrations first"


def _count(outcomes: Sequence[np.ndarray], value: float) -> int:
    return sum(float(outcome[0]) == value for outcome in outcomes)


def _totals(scores: Scores) -> np.ndarray:
    """[G]: outcome and rewards of turns together."""
    turns = scores.turns or [np.zeros(0)] * len(scores.outcome)
    return scores.outcome + np.array([own.sum() for own in turns])


def _is_flat(one: RatedGroup) -> bool:
    return not any(np.any(tokens) for found in one.advantages.tokens for tokens in found)


def _shortened(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}..."
