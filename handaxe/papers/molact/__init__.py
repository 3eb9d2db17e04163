"""MolAct (arXiv:2512.20135): learn to edit molecules by functional groups, then to improve their properties."""

from handaxe.curricula import in_order
from handaxe.methods.method import Method, replace
from handaxe.methods.rl_stage import rl_stage
from handaxe.papers.molact.molecules import Kind, select_kind, shaped

__all__ = ["molact"]


def molact(base: Method, *, first_stage: Kind = "edit", first_steps: int = 12) -> Method:
    """Train on edits in a first stage, then on property optimization.

    Args:
        first_stage: tasks of the first stage, "edit" in the paper; "optimise" makes both stages equal.
        first_steps: training steps of the first stage, of the same size as the run's.
    """
    seed = base.settings.seed
    tasks = select_kind(base.world.tasks("train", 640, seed), first_stage)
    stage = rl_stage(base, steps=first_steps, tasks=in_order(tasks, seed=seed))
    return replace(
        base,
        reward=shaped(),
        tasks=lambda tasks, seed: in_order(select_kind(tasks, "optimise"), seed=seed),
        stages=(*base.stages, stage),
    )
