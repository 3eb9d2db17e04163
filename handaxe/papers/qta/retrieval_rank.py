"""Reward of a rewritten query: the places of the needed tools in the retriever's ranking."""

from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.qta.tool_index import rank_score, tool_index
from handaxe.papers.qta.tool_queries import is_reply, rewritten
from handaxe.rewards.outcome import outcome

__all__ = ["retrieval_rank"]


def retrieval_rank() -> Reward:
    """Score a rollout of `tool_queries` by the ranking that the frozen retriever makes for the rewritten query.

        R_i = rank_score(places of the needed tools)        all on the last place for a reply that the world cannot read

    Returns:
        A reward with outcome [G], negative; higher is better.

    Example:
        needed tools on places 1 and 3 of 128  ->  -(3 + 2 / 129) = -3.0155

    Paper: arXiv:2410.03212 (QTA), ranking function.
    Differs: nothing known.
    Unconfirmed: the function; see `rank_score`.
    """
    known = tool_index()
    last = len(known.groups)

    def score(one: Trajectory) -> float:
        needed = one.task.answer
        return rank_score(known.places(rewritten(one), needed) if is_reply(one) else [last] * len(needed), last)

    return outcome(score)
