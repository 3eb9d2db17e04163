"""BLEUBERI: BLEU against references is the reward, on the tasks at which the policy is worst by it."""

from typing import Literal

from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.rewards.bleu import bleu
from handaxe.training.stages import choose, probe
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["bleuberi"]


def bleuberi(
    base: Method, *, pool: int = 128, hardest: int = 48, order: Literal["ascending", "given"] = "ascending"
) -> Method:
    """Train on smoothed BLEU.

    Args:
        pool: tasks that are probed.
        hardest: how many of them train, those of higher BLEU first; 5,000 in the paper.
        order: of the probed ones, of which the first train; as they were given, they are random ones.
    """
    found = probe(label="bleu", samples=4)
    kept = choose(tasks=choose_by_label(label="bleu", order=order, most=hardest))
    falling = choose(tasks=choose_by_label(label="bleu", order="descending"))
    base = replace(base, tasks=lambda tasks, seed: task_pool(tasks[:pool], seed=seed, shuffle=False))
    return replace(base, reward=bleu(), stages=(*base.stages, found, kept, falling))
