"""BLEUBERI (arXiv:2505.11080): reward BLEU against references, on the tasks with the lowest initial BLEU."""

from typing import Literal

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.training.stages import choose, probe
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["bleuberi"]


def bleuberi(
    base: Method, *, pool: int = 128, hardest: int = 48, order: Literal["ascending", "given"] = "ascending"
) -> Method:
    """Train on smoothed BLEU, hardest tasks selected by a probe.

    Args:
        pool: tasks that are probed.
        hardest: probed tasks that train, those of higher BLEU first; 5,000 in the paper.
        order: of the probed tasks, whose first ones train: "ascending" by BLEU, or "given" for a random subset.
    """
    subset = choose(tasks=choose_by_label(label="bleu", order=order, most=hardest), label="bleu")
    descending = choose(tasks=choose_by_label(label="bleu", order="descending"))
    return replace(
        base,
        reward=rewards.bleu(),
        tasks=lambda tasks, seed: task_pool(tasks[:pool], seed=seed, shuffle=False),
        stages=(*base.stages, probe(label="bleu", samples=4), subset, descending),
    )
