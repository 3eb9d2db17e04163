"""Filter of training tasks by the ratings of a critic."""

from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.training.stages.choose import choose
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.probe import probe
from handaxe.training.stages.run_stages import run_stages

__all__ = ["Keep", "importance_filter"]

Keep = Literal["hard", "all"]
LABEL = "importance"
FULL = 10.0


def importance_filter(
    *, reward: Reward, keep: Keep = "hard", threshold: float = 5.0, samples: int = 4, least: int = 16
) -> Stage:
    """Make a stage: rate every task of a `task_pool`, and keep the hard tasks.

        importance_q  = 10 mean over `samples` rollouts of reward
        kept          = {q : importance_q < threshold}

    Nothing trains. The label is `Task.metadata["importance"]`, divided by 10.

    Args:
        reward: the critic, 0 to 1.
        keep: "hard", or "all" for a control with the same probe.
        threshold: importance, 0 to 10; 5 in the paper.
        samples: rollouts of a task.
        least: minimum number of kept tasks; the nearest above the threshold are added.

    Returns:
        A stage: the metrics of its parts, one row each.

    Raises:
        InputError: samples below 1, a threshold outside 0 to 10, an unknown `keep`; the context's tasks are no
            `task_pool`.

    Example:
        importances 8, 4, 2 of tasks 1, 2, 3 and threshold 5 -> tasks 2 and 3

    Paper: arXiv:2506.01300 (ReAgent-V), filter of the data for GRPO.
    Differs: the policy's own rollouts are rated; the paper rates answers of larger models.
    """
    if samples < 1 or not 0 <= threshold <= FULL or keep not in ("hard", "all"):
        raise InputError(
            f"samples is {samples}, threshold {threshold} and keep {keep!r}; give 1 or more, 0 to 10, and hard or all"
        )
    chosen = choose_by_label(label=LABEL, below=threshold / FULL if keep == "hard" else None, least=least)

    def stage(site: StageContext) -> list[dict[str, float]]:
        parts = [probe(label=LABEL, samples=samples, arguments={"reward": reward}), choose(tasks=chosen)]
        result = run_stages(parts, site)
        if result.stopped:
            raise KeyboardInterrupt
        rows = [row for found in result.metrics.values() for row in found]
        return [{**row, "step": float(n)} for n, row in enumerate(rows)]

    return stage
