"""MARAG-R1: answers, documents that were found and the number of calls are rewarded, with tools over sets of them."""

from handaxe.methods.method import Method, replace
from handaxe.papers.marag.shelves import found_documents, gold_documents, needed_calls
from handaxe.rewards.call_cost import call_cost
from handaxe.rewards.set_overlap import set_overlap
from handaxe.rewards.token_f1 import token_f1
from handaxe.rewards.weighted import weighted
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["marag"]


def marag(base: Method, *, documents: float = 0.5, calls: float = 0.25) -> Method:
    """Teach what went well, then train with leave-one-out on answers, documents and calls.

    Args:
        documents: weight of the F1 of documents; unconfirmed.
        calls: weight of how near the number of calls is to the reference; unconfirmed.
    """
    found = set_overlap(found=found_documents, gold=gold_documents)
    near = call_cost(form="near", reference=needed_calls)
    parts = {"answer": (1.0, token_f1()), "documents": (documents, found), "calls": (calls, near)}
    taught = teach(source=played(), select=keep_successes(channel="answer"), learning_rate=3e-4, optional=True)
    return replace(base, reward=weighted(parts), stages=(*base.stages, taught))
