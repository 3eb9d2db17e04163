"""MARAG-R1: answers, documents that were found and the number of calls are rewarded, with tools over sets of them."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.rloo import rloo
from handaxe.rewards.call_economy import call_economy
from handaxe.rewards.set_overlap import set_overlap
from handaxe.rewards.token_f1 import token_f1
from handaxe.rewards.weighted import weighted
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.sources import played
from handaxe.training.stages.teach import teach
from handaxe.worlds.shelves import found_documents, gold_documents, needed_calls, shelves

__all__ = ["marag"]

TITLE = "MARAG-R1: Beyond Single Retriever via Reinforcement-Learned Multi-Tool Agentic Retrieval"
NOTE = "The weights and the form of the term for calls are unconfirmed."
ALONE = "marag --documents 0 --calls 0"
RECIPE = Recipe(
    paper=Paper(TITLE, "MARAG-R1", "2510.27569", 134),
    base=rloo,
    world=shelves,
    claims=(
        Claim("More right documents are found.", "document_f1", "up", baseline=ALONE, vice=0.95, note=NOTE),
        Claim("And more is answered right.", "pass@1", "up", baseline=ALONE, vice=0.95, note=NOTE),
    ),
    setting=Setting(model="start", steps=12, max_turns=4),
)


def marag(base: Method, *, documents: float = 0.5, calls: float = 0.25) -> Method:
    """Teach what went well, then train with leave-one-out on answers, documents and calls.

    Args:
        documents: weight of the F1 of documents; unconfirmed.
        calls: weight of how near the number of calls is to the reference; unconfirmed.

    Differs: no dense retriever; what is taught first are the policy's own successes.
    """
    found = set_overlap(found=found_documents, gold=gold_documents)
    near = call_economy(form="near", reference=needed_calls)
    parts = {"answer": (1.0, token_f1()), "documents": (documents, found), "calls": (calls, near)}
    taught = teach(source=played(), select=keep_successes(channel="answer"), learning_rate=3e-4, optional=True)
    return replace(base, reward=weighted(parts), stages=(*base.stages, taught))
