"""Mixed-R1: each kind of question has its own reward, and sentences are judged by the embeddings of their tokens."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.models.embeddings import embeddings
from handaxe.models.load import load
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.bleu import bleu
from handaxe.rewards.embedding_match import embedding_match
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.only_tasks import only_tasks
from handaxe.worlds.mixed import PARTS, judged, mixed

__all__ = ["mixed_r1"]

TITLE = "Mixed-R1: Unified Reward Perspective For Reasoning Capability in Multimodal Large Language Models"
ALONE = "mixed_r1 --parts sums"
BLEU = "mixed_r1 --bmas 0 --ngrams 1"
NOTE = "The formula of BMAS and the weight of format, 0.1, are unconfirmed."
RECIPE = Recipe(
    paper=Paper(TITLE, "Mixed-R1", "2505.24164", 104),
    claims=(
        Claim("More is right than by one part alone.", "pass@1", "up", baseline=ALONE, vice=0.85, note=NOTE),
        Claim("Sentences grow no longer, as they do under BLEU.", "words", "down", baseline=BLEU, vice=7.5, note=NOTE),
    ),
    base=partial(grpo, kl_coefficient=0.01),
    world=mixed,
    setting=Setting(model="start"),
)


def mixed_r1(base: Method, *, parts: tuple[str, ...] = PARTS, bmas: float = 1.0, ngrams: float = 0.0) -> Method:
    """Train on parts told in words, each under a reward of its own.

    Args:
        parts: those that are trained on, of sums, box, number and words.
        bmas: weight of BMAS by embeddings of the model that ships, which starts come from; in the paper the policy's.
        ngrams: weight of BLEU in its place.
    """
    words = weighted({"bmas": (bmas, embedding_match(embed=embeddings(load("tiny")))), "bleu": (ngrams, bleu())})
    reward = weighted({"task": (1.0, judged(words=words)), "format": (0.1, well_formed(arguments=True))})
    return replace(base, reward=reward, tasks=only_tasks(key="part", among=parts))
