"""Mixed-R1: each kind of question has its own reward, and sentences are judged by the embeddings of their tokens."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.models.embeddings import embeddings
from handaxe.models.load import load
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.by_task import by_task
from handaxe.rewards.embedding_match import embedding_match
from handaxe.rewards.numeric_match import numeric_match
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.only_tasks import only_tasks
from handaxe.worlds.mixed import PARTS, mixed
from handaxe.worlds.screen_layout import gold_box, said_box

__all__ = ["mixed_r1"]

TITLE = "Mixed-R1: Unified Reward Perspective For Reasoning Capability in Multimodal Large Language Models"
ALONE = "mixed_r1 --parts sums"
RECIPE = Recipe(
    paper=Paper(TITLE, "Mixed-R1", "2505.24164", 104),
    claims=(Claim("More of it is right than after training on one part.", "pass@1", "up", baseline=ALONE, vice=0.85),),
    base=partial(grpo, kl_coefficient=0.01), world=mixed, setting=Setting(model="start"),
)  # fmt: skip


def mixed_r1(base: Method, *, format: float = 0.1, numeric: float = 0.05, parts: tuple[str, ...] = PARTS) -> Method:
    """Train on a mixture. Differs: parts are told in words; embeddings are those of the policy that starts come from.

    Args:
        format: weight of well-formed attempts; unconfirmed.
        numeric: relative tolerance of numbers; 0.05 is unconfirmed.
        parts: those that are trained on, of sums, box, number and words.
    """
    kinds = {"sums": base.reward, "number": numeric_match(rel_tol=numeric)}
    boxes, words = box_overlap(found=said_box, gold=gold_box), embedding_match(embed=embeddings(load("tiny")))
    routed = by_task(key="part", rewards={**kinds, "box": boxes, "words": words})
    reward = weighted({"task": (1.0, routed), "format": (format, well_formed())})
    return replace(base, reward=reward, tasks=only_tasks(key="part", among=parts))
