"""THOR (arXiv:2509.13761), TIRGen: fine-tune first on text solutions rewritten with executed tool calls."""

from handaxe.methods.method import Method, replace
from handaxe.training.stages import teach_solutions

__all__ = ["thor_tirgen"]


def thor_tirgen(base: Method, *, solutions: int = 128) -> Method:
    """Fine-tune on rewritten solutions, then train as the base does.

    Args:
        solutions: worked solutions of the world that are rewritten with calls.
    """
    sft = teach_solutions(world=base.world, count=solutions)
    return replace(base, stages=(*base.stages, sft))
