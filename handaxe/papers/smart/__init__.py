"""SMART: a policy learns when it needs a tool, from demonstrations that call one where it could not do without."""

from handaxe.curricula.task_pool import task_pool
from handaxe.envs.without_tools import without_tools
from handaxe.methods.method import Method, replace
from handaxe.papers.smart.by_need import Shown, by_need
from handaxe.training.stages.probe import probe
from handaxe.training.stages.teach import teach

__all__ = ["smart"]


def smart(base: Method, *, show: Shown = "need", above: float = 0.5, tries: int = 8, most: int = 256) -> Method:
    """Ask what the policy can do without tools, then teach it to call for the rest; no reinforcement learning.

    Args:
        show: where demonstrations call: need, or what that is compared with, always and never.
        above: share of attempts without tools above which a task needs none; a guess.
        tries: attempts at each task without tools.
        most: tasks that are probed and taught, the first of the training tasks.
    """
    alone = without_tools(base.world.env(base.world.tools))
    asked = probe(label="known", samples=tries, groups=64, arguments={"env": alone})
    shown = by_need(expert=base.world.need("expert"), label="known", above=above, show=show, plays=base.world.plays)
    stages = (*base.stages, asked, teach(source=shown, learning_rate=3e-4))
    return replace(base, tasks=lambda tasks, seed: task_pool(tasks[:most], seed=seed), stages=stages)
