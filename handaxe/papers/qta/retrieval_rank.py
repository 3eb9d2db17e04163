"""Reward of a rewritten query: the places of the needed tools in the retriever's ranking."""

from handaxe.core.protocols import Reward
from handaxe.papers.qta.tool_index import rank_score, tool_index
from handaxe.papers.qta.tool_queries import rewritten
from handaxe.rewards.outcome import outcome

__all__ = ["retrieval_rank"]


def retrieval_rank() -> Reward:
    """Score a rollout of `tool_queries` by the ranking that the frozen retriever makes for the rewritten query.

        R_i = rank_score(places of the needed tools)

    Returns:
        A reward with outcome [G], negative; higher is better.

    Example:
        needed tools on places 1 and 3 of 128  ->  -(3 + 2 / 129) = -3.0155

    Paper: arXiv:2410.03212 (QTA), ranking function.
    Differs: nothing known.
    Unconfirmed: the function; see `rank_score`.
    """
    known = tool_index()
    return outcome(lambda one: rank_score(known.places(rewritten(one), one.task.answer), len(known.groups)))
