"""MolAct: learn to edit molecules by a functional group, and then, from there, to improve their properties."""

from handaxe.curricula.in_order import in_order
from handaxe.methods.earlier import earlier
from handaxe.methods.method import Method, replace
from handaxe.papers.molact.molecules import Kind, of_kind, shaped

__all__ = ["molact"]


def molact(base: Method, *, first: Kind = "edit", first_steps: int = 12) -> Method:
    """Train on edits in a stage of its own, then on improvements.

    Args:
        first: what the stage before trains on; optimise makes both stages the same.
        first_steps: training steps of the stage before, as large as those of the run, learnt as the base does.
    """
    seed = base.settings.seed
    tasks = in_order(of_kind(base.world.tasks("train", 640, seed), first), seed=seed)
    stage = earlier(base, steps=first_steps, tasks=tasks)
    base = replace(base, tasks=lambda tasks, seed: in_order(of_kind(tasks, "optimise"), seed=seed))
    return replace(base, reward=shaped(), stages=(*base.stages, stage))
