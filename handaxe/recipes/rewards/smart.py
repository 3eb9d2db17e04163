"""SMART: a policy learns when it needs a tool, from demonstrations that call one where it could not do without."""

from handaxe.envs.without_tools import without_tools
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.selection.task_pool import task_pool
from handaxe.training.by_need import Shown, by_need
from handaxe.training.stages.probe import probe
from handaxe.training.stages.teach import teach
from handaxe.worlds.sums import sums

__all__ = ["smart"]

RIGHT = "pass@1"
NEEDLESS = "Tools are used less where none is needed, as accurately."
BEFORE = "And less than before it was taught."
ALWAYS = "smart --show always"
WHOLE = "Over all questions tools are used less, and they are answered as accurately."
BETTER = "More is right over all questions than before it was taught."
EASY = ("difficulty", "easy")
NOTE = "Unconfirmed: the threshold. Nothing is rewarded, so there is no control with scores dealt out anew."
RECIPE = Recipe(
    paper=Paper("SMART: Self-Aware Agent for Tool Overuse Mitigation", "SMART", "2502.11435", 151),
    claims=(
        Claim(
            NEEDLESS, "used_tools", "down", baseline=ALWAYS, where=EASY, same=RIGHT, vice=0.5, learned=False, note=NOTE
        ),
        Claim(BEFORE, "used_tools", "down", where=EASY, same=RIGHT, vice=0.5, learned=False, note=NOTE),
        Claim(WHOLE, "used_tools", "down", baseline=ALWAYS, same=RIGHT, vice=0.5, learned=False, note=NOTE),
        Claim(BETTER, RIGHT, "up", vice=0.9, learned=False, note=NOTE),
    ),
    base=frozen,
    world=sums,
    setting=Setting(model="start", steps=1, groups=1),
)


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
