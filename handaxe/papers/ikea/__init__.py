"""IKEA: a right answer is worth more without a search, a wrong one a little with one, and both cases are trained."""

from handaxe.curricula.task_pool import task_pool
from handaxe.envs.without_tools import without_tools
from handaxe.methods.method import Method, replace
from handaxe.papers.ikea.label_reaches import label_reaches
from handaxe.rewards import gate, used_tools, weighted, well_formed
from handaxe.rewards.call_cost import call_cost
from handaxe.rewards.ladder import Rung, ladder
from handaxe.training.stages import choose, probe
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["ikea"]


def ikea(base: Method, *, few: float = 0.6, searched: float = 0.05, pool: int = 128) -> Method:
    """Train on as many tasks that the policy answers without tools as others, with a reward that knows the boundary.

    Args:
        few: r_kb+, what no call adds to a right answer; 0.6 in the paper.
        searched: r_kb-, for a wrong answer after a search; 0.05 in the paper.
        pool: tasks that are probed.
    """
    right = weighted({"right": (1.0, base.reward), "few": (few, call_cost())})
    edge = gate(on=base.reward, then=right, otherwise=weighted({"searched": (searched, used_tools())}))
    reward = ladder([Rung("format", well_formed(), 0.0, failed=-1.0), Rung("boundary", edge)])
    alone = without_tools(base.world.env(base.world.tools))
    closed = probe(label="alone", samples=4, arguments={"env": alone, "reward": base.reward})
    mixed = choose(tasks=choose_by_label(label="alone", balance=label_reaches(label="alone")))
    base = replace(base, tasks=lambda tasks, seed: task_pool(tasks[:pool], seed=seed))
    return replace(base, reward=reward, stages=(*base.stages, closed, mixed))
