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
        Claim("More of what is said are molecules than at the start.", "valid", "up", baseline="frozen", vice=0.9),
    ),
    world=molecules,
    setting=Setting(model="start", max_tokens=64, group_size=4),
)


def molact(base: Method, *, first: Kind = "edit", first_steps: int = 12) -> Method:
    """Train on edits in a stage of its own, then on improvements.

    Args:
        first: what the stage before trains on; optimise makes both stages the same.
        first_steps: training steps of the stage before, as large as those of the run, learnt as the base does.
    """
    seed = base.setting.seed
    tasks = in_order(of_kind(base.world.tasks("train", 640, seed), first), seed=seed)
    stage = earlier(base, steps=first_steps, tasks=tasks)
    base = replace(base, tasks=lambda tasks, seed: in_order(of_kind(tasks, "optimise"), seed=seed))
    return replace(base, reward=shaped(), stages=(*base.stages, stage))
