"""AgentMath (arXiv:2512.20745), cold start: fine-tune on worked solutions rewritten with tool calls."""

from handaxe.methods.method import Method, replace
from handaxe.training.stages.teach_solutions import teach_solutions

__all__ = ["agentmath_sft"]


def agentmath_sft(base: Method, *, solutions: int = 64, epochs: int = 2) -> Method:
    """Precede reinforcement learning by supervised fine-tuning on solutions with executed calls.

    Args:
        solutions: worked solutions of the world that are rewritten. The number in the paper is unconfirmed.
        epochs: epochs over them.
    """
    stage = teach_solutions(world=base.world, count=solutions, passes=epochs)
    return replace(base, stages=(*base.stages, stage))
