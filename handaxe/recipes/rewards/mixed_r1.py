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
NOTE = "The formula of BMAS and the weight of format, 0.1, are unconfirmed."
RECIPE = Recipe(
    paper=Paper(TITLE, "Mixed-R1", "2505.24164", 104),
    claims=(Claim("More is right than by one part alone.", "pass@1", "up", baseline=ALONE, vice=0.85, note=NOTE),),
    base=partial(grpo, kl_coefficient=0.01), world=mixed, setting=Setting(model="start"),
)  # fmt: skip


def mixed_r1(base: Method, *, parts: tuple[str, ...] = PARTS, table: str = "tiny") -> Method:
    """Train on parts told in words, each under a reward of its own.

    Args:
        parts: those that are trained on, of sums, box, number and words.
        table: the model by whose input embeddings sentences are compared; in the paper the policy's own.
    """
    boxes, numbers = box_overlap(found=said_box, gold=gold_box), numeric_match(rel_tol=0.05)
    words = embedding_match(embed=embeddings(load(table)))
    kinds = {"sums": base.reward, "box": boxes, "number": numbers, "words": words}
    reward = weighted({"task": (1.0, by_task(key="part", rewards=kinds)), "format": (0.1, well_formed())})
    return replace(base, reward=reward, tasks=only_tasks(key="part", among=parts))
