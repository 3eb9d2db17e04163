"""IKEA: a right answer is worth more without a search, a wrong one a little with one, and both cases are trained."""

from handaxe.envs.without_tools import without_tools
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards import call_economy, gate, used_tools, weighted, well_formed
from handaxe.rewards.ladder import Rung, ladder
from handaxe.selection.task_pool import task_pool
from handaxe.training.stages import choose, probe
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.parts.label_reaches import label_reaches
from handaxe.worlds.facts import facts

__all__ = ["ikea"]

TITLE = "Reinforced Internal-External Knowledge Synergistic Reasoning for Efficient Adaptive Search Agent"
PLAIN = "ikea --few 0 --searched 0"
RECIPE = Recipe(
    paper=Paper(TITLE, "IKEA", "2505.07596", 204),
    base=grpo,
    world=facts,
    claims=(
        Claim(
            "Of what it knows it searches less than without a reward for the boundary, as accurate.",
            "calls",
            "down",
            baseline=PLAIN,
            same="pass@1",
            where=("known", "yes"),
            vice=0.6,
        ),
        Claim("Fewer of its calls are needless.", "wasted_calls", "down", baseline=PLAIN, same="pass@1", vice=0.3),
    ),
    setting=Setting(model="start"),
)


def ikea(base: Method, *, few: float = 0.6, searched: float = 0.05, pool: int = 128) -> Method:
    """Train on as many tasks that the policy answers without tools as others, with a reward that knows the boundary.

    Args:
        few: r_kb+, what no call adds to a right answer; 0.6 in the paper.
        searched: r_kb-, for a wrong answer after a search; 0.05 in the paper.
        pool: tasks that are probed.

    Differs: what is known was put there: the start learned everybody's age, of those that tests ask about too;
    a call that a tool refuses is no error of form.
    """
    right = weighted({"right": (1.0, base.reward), "few": (few, call_economy())})
    edge = gate(on=base.reward, then=right, otherwise=weighted({"searched": (searched, used_tools())}))
    reward = ladder([Rung("format", well_formed(), 0.0, failed=-1.0), Rung("boundary", edge)])
    alone = without_tools(base.world.env(base.world.tools))
    closed = probe(label="alone", samples=4, arguments={"env": alone, "reward": base.reward})
    mixed = choose(tasks=choose_by_label(label="alone", balance=label_reaches(label="alone")))
    base = replace(base, tasks=lambda tasks, seed: task_pool(tasks[:pool], seed=seed))
    return replace(base, reward=reward, stages=(*base.stages, closed, mixed))
