"""MolAct: learn to edit molecules by a functional group, and then, from there, to improve their properties."""

from handaxe.methods.earlier import earlier
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.selection.in_order import in_order
from handaxe.worlds.molecules import Kind, molecules, of_kind, shaped

__all__ = ["molact"]

TITLE = "MolAct: An Agentic RL Framework for Molecular Editing and Property Optimization"
AGAIN = "molact --first optimise"
RECIPE = Recipe(
    paper=Paper(TITLE, "MolAct", "2512.20135", 144),
    claims=(
        Claim("More gained than by optimising alone for as long.", "property_gain", "up", baseline=AGAIN, vice=0.9),
        Claim("More of what is said are molecules than at the start.", "valid", "up", baseline="start", vice=0.9),
    ),
    world=molecules,
    setting=Setting(model="start", max_tokens=64, group_size=4),
)


def molact(
    base: Method, *, first: Kind = "edit", first_steps: int = 12, first_groups: int = 8, first_group_size: int = 4
) -> Method:
    """Train on edits in a stage of its own, then on improvements.

    Args:
        first: what the stage before trains on; optimise makes both stages the same.
        first_steps, first_groups, first_group_size: training steps of the stage before, its tasks a step, and the
            attempts at each. It learns as the base does, at a rate of 3e-4.
    """
    tasks = in_order(of_kind(base.world.tasks("train", 640, 0), first))
    stage = earlier(base, steps=first_steps, groups=first_groups, group_size=first_group_size, tasks=tasks)
    base = replace(base, tasks=lambda tasks, seed: in_order(of_kind(tasks, "optimise"), seed=seed))
    return replace(base, reward=shaped(), stages=(*base.stages, stage))
