"""SimpleTIR: leave out attempts with a void turn, and nothing else changes."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.selection.pipe import pipe
from handaxe.selection.void_turns import void_turns

__all__ = ["simpletir"]

TITLE = "SimpleTIR: End-to-End Reinforcement Learning for Multi-Turn Tool-Integrated Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "SimpleTIR", "2509.02479", 164),
    claims=(Claim("The largest gradient norms are lower.", "training/grad_norm", "down", over="worst"),),
    base=partial(plain, eps_high=0.28),
    setting=Setting(tools=("python",)),
)


def simpletir(base: Method) -> Method:
    """Train without the tokens of attempts that hold a turn with neither call nor answer.

    Differs: groups of equal rewards are dropped only where the base does so (`--base dapo`).
    """
    return replace(base, select=pipe(base.select, void_turns(answer=base.world.need("answered"))))
