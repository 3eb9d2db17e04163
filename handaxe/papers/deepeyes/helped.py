"""Keep the tasks at which the policy is sometimes right, those first that tools help with most."""

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.envs.without_tools import without_tools
from handaxe.training.stages.choose import choose
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.probe import probe
from handaxe.training.stages.run_stages import run_stages

__all__ = ["helped"]


def helped(*, reward: Reward, samples: int = 8, least: int = 16, most: int | None = None) -> Stage:
    """Make a stage that probes every task of a `task_pool` with tools and without, and keeps what is worth training on.

        with_i, without_i   mean outcome of `samples` attempts at task i
        kept                0 < with_i < 1, in order of with_i - without_i, the largest first

    The labels stand in `Task.metadata` as "with" and "without". Nothing trains.

    Args:
        reward: what is right, 0 to 1; that of the run may hold more than that.
        samples: attempts a task, each way; 8 in the paper.
        least: how many are kept at least: where fewer are sometimes right, those nearest to it are too.
        most: how many are kept at most; None for all.

    Returns:
        A stage: the metrics of its four parts, one row each.

    Raises:
        InputError: samples below 1; the site's tasks are no `task_pool`.

    Example:
        with 1, 0.5, 0.75, without 1, 0.5, 0 at tasks a, b, c  ->  c, b  (least=1)

    Paper: arXiv:2505.14362 (DeepEyes), its data selection.
    Differs: tools as the policy uses them; the paper shows it the right crop.
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
