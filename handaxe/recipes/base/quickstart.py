"""The first minutes: teach a tiny policy to use a calculator, on real reasoning-gym tasks."""

from handaxe.methods.method import Claim, Method, Recipe, Setting
from handaxe.recipes.base.dr_grpo import dr_grpo

__all__ = ["quickstart"]

RECIPE = Recipe(
    claims=(Claim("Accuracy rises over the policy it starts from.", "pass@1", "up", baseline="start"),),
    base=dr_grpo,
    setting=Setting(steps=18),
)


def quickstart(base: Method) -> Method:
    """Train as Dr. GRPO does, for as many steps as fit into half a minute."""
    return base
