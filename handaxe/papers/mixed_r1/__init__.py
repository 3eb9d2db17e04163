"""Mixed-R1: each kind of question has its own reward, and sentences are judged by the embeddings of their tokens."""

from handaxe.methods.method import Method, replace
from handaxe.models.embeddings import embeddings
from handaxe.models.load import load
from handaxe.papers.mixed_r1.embedding_match import embedding_match
from handaxe.papers.mixed_r1.mixed import PARTS, judged
from handaxe.papers.mixed_r1.only_tasks import only_tasks
from handaxe.rewards.bleu import bleu
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["mixed_r1"]


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
