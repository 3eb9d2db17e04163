"""Tool-Star (arXiv:2505.16410), data by classes of difficulty: samples without tools, and tasks from easy to hard."""

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.fact_products import BOTH
from handaxe.papers.tool_star.graded_start import graded_start
from handaxe.rewards.ladder import Rung

__all__ = ["tool_star_classes"]


def tool_star_classes(
    base: Method, *, bonus: float = 0.1, graded: int = 128, direct_samples: bool = True, hints: str = "rule"
) -> Method:
    """Grade tasks by play, fine-tune on samples of both kinds, and train on the other tasks with the bonus.

    Args:
        bonus: r_M, reward of a correct answer that used both tools; 0.1 in the paper.
        graded: tasks with a class.
        direct_samples: fine-tune also on samples without tools.
        hints: who writes hints: rule, self, self@start, a model, or http://HOST/v1#NAME.
    """
    form = Rung("format", rewards.well_formed(), 0.0, failed=-1.0)
    both = Rung("both", rewards.used_tools(tools=BOTH, every=True), bonus)
    start = graded_start(plays=base.world.make_rollout, hints=hints, direct_samples=direct_samples, tasks=graded)
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(tasks, seed=seed, shuffle=False),
        reward=rewards.ladder([form, Rung("answer", rewards.token_f1()), both]),
        stages=(*base.stages, start),
    )
