"""SMART (arXiv:2502.11435), SMART-ER: fine-tune on chains of known steps and tool calls with justifications."""

from handaxe.methods.method import Method, replace
from handaxe.papers.smart.chain_lessons import chain_lessons
from handaxe.papers.smart.chains import Called
from handaxe.training import stages

__all__ = ["smart_er"]


def smart_er(
    base: Method, *, demonstrations: Called = "need", justified: bool = True, chains: int = 512, epochs: int = 3
) -> Method:
    """Demonstrate chains in three domains, without RL. `--judge MODEL` writes the justifications; by default a rule.

    Args:
        demonstrations: when demonstrations call: by "need", or "always", the comparison.
        justified: with a decision and a justification for each step.
        chains: number of demonstrations.
        epochs: passes over them.
    """
    source = chain_lessons(count=chains, shown=demonstrations, justified=justified, desk=base.judge.texts())
    sft = stages.teach(source=source, epochs=epochs, batch_size=16, learning_rate=1e-3)
    return replace(base, stages=(*base.stages, sft))
