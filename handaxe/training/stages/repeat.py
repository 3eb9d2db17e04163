"""The same stages again and again."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.training.stages.run_stages import run_stages

__all__ = ["repeat"]


def repeat(*, stages: Sequence[Stage], times: int) -> Stage:
    """Make a stage of rounds of other stages, in folders of their own within its folder.

    Args:
        stages: those of a round; each round draws anew, and plays the tasks after those of the round before.
        times: rounds, >= 0.

    Returns:
        A stage: the metrics of all of their steps, numbered through, with "round".

    Example:
        repeat(stages=[prefer(source=played(), ...)], times=3): DPO three times, each against the policy before it
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
