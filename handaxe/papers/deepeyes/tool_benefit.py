"""Stage that selects tasks of intermediate accuracy, in the order of the benefit of tools."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.envs.without_tools import without_tools
from handaxe.training.stages.choose import choose
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.probe import probe
from handaxe.training.stages.run_stages import run_stages

__all__ = ["tool_benefit"]


def tool_benefit(*, reward: Reward, samples: int = 8, least: int = 16, most: int | None = None) -> Stage:
    """Make a stage that probes every task of a `task_pool` with and without tools, and selects tasks for training.

        with_i, without_i   mean outcome of `samples` rollouts at task i
        kept                0 < with_i < 1, in descending order of with_i - without_i

    The labels are `Task.metadata` "with" and "without". Nothing trains.

    Args:
        reward: correctness, 0 to 1; the run's reward may have further parts.
        samples: rollouts of a task, with and without tools each; 8 in the paper.
        least: minimum number of kept tasks; too few of intermediate accuracy are filled up with those nearest to it.
        most: maximum number of kept tasks; None for all.

    Returns:
        A stage: the metrics of its four parts, one row each.

    Raises:
        InputError: samples below 1; the context's tasks are no `task_pool`.

    Example:
        with 1, 0.5, 0.75, without 1, 0.5, 0 at tasks a, b, c  ->  c, b  (least=1)

    Paper: arXiv:2505.14362 (DeepEyes), its data selection.
    Differs: tools as the policy uses them, and an order; the paper shows the policy the reference crop, and drops
        fine-grained tasks that are not solved with the crop.
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give 1 or more")

    def stage(site: StageContext) -> list[dict[str, float]]:
        parts = [
            probe(label="with", samples=samples, arguments={"reward": reward}),
            probe(label="without", samples=samples, arguments={"reward": reward, "env": without_tools(site.env)}),
            choose(tasks=choose_by_label(label="with", above=0, below=1, least=least)),
            choose(tasks=choose_by_label(label="with", minus="without", order="descending", most=most)),
        ]
        result = run_stages(parts, site)
        if result.stopped:
            raise KeyboardInterrupt
        rows = [row for found in result.metrics.values() for row in found]
        return [{**row, "step": float(n)} for n, row in enumerate(rows)]

    return stage
