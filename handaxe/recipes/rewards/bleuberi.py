"""BLEUBERI: BLEU against references is the reward, on the tasks at which the policy is worst by it."""

from typing import Literal

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.bleu import bleu
from handaxe.selection.task_pool import task_pool
from handaxe.training.stages import choose, probe
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.worlds.described import described

__all__ = ["bleuberi"]

TITLE = "BLEUBERI: BLEU is a surprisingly effective reward for instruction following"
NOTE = "That every order of BLEU is smoothed is unconfirmed."
SHARED = "Answers share more with references of new tasks."
RANDOM = "bleuberi --order given"
RECIPE = Recipe(
    paper=Paper(TITLE, "BLEUBERI", "2505.11080", 101),
    base=grpo,
    world=described,
    claims=(
        Claim(SHARED, "rouge_l", "up", baseline="start", vice=0.8, note=NOTE),
        Claim("And than after random tasks.", "rouge_l", "up", baseline=RANDOM, vice=0.8, note=NOTE),
    ),
    setting=Setting(model="start", steps=16),
)


def bleuberi(
    base: Method, *, pool: int = 128, hardest: int = 48, order: Literal["ascending", "given"] = "ascending"
) -> Method:
    """Train on smoothed BLEU. Differs: references are one or two, of a template and not of a language model.

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
