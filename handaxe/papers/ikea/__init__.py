"""IKEA (arXiv:2505.07596): reward the knowledge boundary, on as many known as unknown questions."""

from handaxe import rewards
from handaxe.curricula import task_pool
from handaxe.envs import without_tools
from handaxe.methods.method import Method, replace
from handaxe.papers.ikea.label_reaches import label_reaches
from handaxe.rewards.ladder import Rung
from handaxe.training import stages
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["ikea"]

POOL = 128
"""Tasks that are probed without tools."""


def ikea(base: Method, *, direct_bonus: float = 0.6, search_bonus: float = 0.05) -> Method:
    """Pay correct answers more for fewer searches and wrong ones for a search; balance known and unknown tasks.

    Args:
        direct_bonus: r_kb+, bonus of a correct answer without a search, 0 from 3 searches on; 0.6 in the paper.
        search_bonus: r_kb-, reward of a wrong answer after a search; 0.05 in the paper.
    """
    correct = rewards.weighted({"right": (1.0, base.reward), "few": (direct_bonus, rewards.call_cost())})
    wrong = rewards.weighted({"searched": (search_bonus, rewards.used_tools())})
    boundary = rewards.gate(on=base.reward, then=correct, otherwise=wrong)
    closed_book = without_tools(base.world.env(base.world.tools))
    return replace(
        base,
        reward=rewards.ladder([Rung("format", rewards.well_formed(), 0.0, failed=-1.0), Rung("boundary", boundary)]),
        tasks=lambda tasks, seed: task_pool(tasks[:POOL], seed=seed),
        stages=(
            *base.stages,
            stages.probe(label="alone", samples=4, arguments={"env": closed_book, "reward": base.reward}),
            stages.choose(tasks=choose_by_label(label="alone", balance=label_reaches(label="alone"))),
        ),
    )
