"""Repetition of stages."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.training.stages.run_stages import run_stages

__all__ = ["repeat"]


def repeat(*, stages: Sequence[Stage], times: int) -> Stage:
    """Make a stage of several rounds of other stages, each round in a separate subfolder.

    Args:
        stages: stages of a round; each round has new random draws, and continues the tasks of the previous one.
        times: rounds, >= 0.

    Returns:
        A stage: the metrics of all steps, numbered consecutively, with "round".

    Example:
        repeat(stages=[prefer(source=played(), ...)], times=3): DPO three times, each against the previous policy
    """
    if times < 0:
        raise InputError(f"times is {times}; give 0 or more rounds")

    def stage(site: StageContext) -> list[dict[str, float]]:
        result = run_stages(list(stages) * times, site)
        if result.stopped:
            raise KeyboardInterrupt
        found = [(k // len(stages), row) for k, rows in enumerate(result.metrics.values()) for row in rows]
        return [{**row, "step": float(n), "round": float(k)} for n, (k, row) in enumerate(found)]

    return stage
