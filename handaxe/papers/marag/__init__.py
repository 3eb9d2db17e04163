"""MARAG-R1 (arXiv:2510.27569): reward answers, retrieved documents and the number of calls, with retrieval tools."""

from handaxe import rewards, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.marag.shelves import found_documents, gold_documents, needed_calls
from handaxe.training.stages import teach
from handaxe.training.stages.sources import played

__all__ = ["marag"]


def marag(base: Method, *, documents: float = 0.5, calls: float = 0.25) -> Method:
    """Fine-tune on correct rollouts, then train with leave-one-out on answers, documents and calls.

    Args:
        documents: weight of the F1 of retrieved documents. Unconfirmed.
        calls: weight of the nearness of the number of calls to the reference. Unconfirmed.
    """
    found = rewards.set_overlap(found=found_documents, gold=gold_documents)
    near = rewards.call_cost(form="near", reference=needed_calls)
    parts = {"answer": (1.0, rewards.token_f1()), "documents": (documents, found), "calls": (calls, near)}
    correct = selection.keep_successes(channel="answer")
    sft = teach(source=played(), select=correct, learning_rate=3e-4, optional=True)
    return replace(base, reward=rewards.weighted(parts), stages=(*base.stages, sft))
