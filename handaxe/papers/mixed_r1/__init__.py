"""Mixed-R1 (arXiv:2505.24164): train on a mixture of tasks with one reward per kind of task."""

import handaxe
from handaxe import rewards
from handaxe.curricula.only_tasks import only_tasks
from handaxe.methods.method import Method, replace
from handaxe.models.embeddings import embeddings
from handaxe.papers.mixed_r1.arithmetic_and_charts import PARTS, score_parts
from handaxe.papers.mixed_r1.embedding_match import embedding_match

__all__ = ["mixed_r1"]


def mixed_r1(base: Method, *, parts: tuple[str, ...] = PARTS, bmas: float = 1.0, bleu: float = 0.0) -> Method:
    """Reward each kind of task by its own measure, and open-ended text by BMAS over token embeddings.

    Args:
        parts: kinds that are trained on, of sums, choice, number, box and words.
        bmas: weight of BMAS, on embeddings of the tiny checkpoint; the paper takes the policy's.
        bleu: weight of BLEU, which the paper compares with; 0 in the paper.
    """
    similarity = embedding_match(embed=embeddings(handaxe.load("tiny")))
    words = rewards.weighted({"bmas": (bmas, similarity), "bleu": (bleu, rewards.bleu())})
    form = rewards.well_formed(arguments=True)
    reward = rewards.weighted({"task": (1.0, score_parts(words=words)), "format": (0.1, form)})
    return replace(base, reward=reward, tasks=only_tasks(key="part", among=parts))
