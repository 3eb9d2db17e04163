"""Stage: measures how often debugger, backtracer and chain refiner act."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import RatedGroup

__all__ = ["inference_use", "measure_use"]


def inference_use(*, source: Source) -> Stage:
    """Make a stage that measures the inference tools on played rollouts, without training.

    Args:
        source: of rollouts of `inference_rollout`.

    Returns:
        A stage: one row with the figures of `measure_use`.

    Example:
        inference_use(source=played(groups=16, arguments={"rollout": code_debugger(...)}))

    Paper: arXiv:2505.16410 (Tool-Star), tools at inference.
    Differs: tasks of the training split.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        return [{"step": 0.0, **measure_use(source(site))}]

    return stage


def measure_use(groups: Sequence[RatedGroup]) -> dict[str, float]:
    """Shares of rollouts with a debugged call, with a resampled turn, and with a refined chain.

    Example:
        four rollouts, one with two debugged calls, none resampled or refined  ->  0.25, 0, 0

    Idea: an inference tool that never acts proves nothing.
    """
    rollouts = [one for rated in groups for one in rated.group]
    count = max(len(rollouts), 1)
    return {
        "debugged": sum(bool(one.env.get("debugged")) for one in rollouts) / count,
        "resampled": sum(bool(one.notes.get("redrawn")) for one in rollouts) / count,
        "refined": sum(bool(one.notes.get("refined")) for one in rollouts) / count,
    }
