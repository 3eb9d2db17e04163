"""Fathom-DeepResearch (arXiv:2509.24107), RAPO: prune solved tasks, replay successes, rescale, penalise redundancy."""

from handaxe import selection
from handaxe.curricula.prune_solved import prune_solved
from handaxe.methods.method import Method, replace
from handaxe.papers.fathom.call_kinds import call_kinds
from handaxe.papers.fathom.paged_hops import page_claim
from handaxe.papers.fathom.redundant_calls import redundant_calls
from handaxe.papers.fathom.rescale_by_informative_groups import rescale_by_informative_groups

__all__ = ["fathom"]


def fathom(
    base: Method,
    *,
    rate: float = 0.9,
    penalty: float = 1.0,
    floor: float = 0.5,
    novelty: float = 0.5,
    verifications: int = 1,
) -> Method:
    """Train with RAPO on a reward with a penalty for the share of redundant calls. `--judge` names who labels calls.

    Args:
        rate: solve rate from which on a task is pruned; 0.9 in the paper.
        penalty: reward that a redundant share of 1 takes from a correct rollout. Unconfirmed.
        floor: minimum reward of a correct rollout. Unconfirmed.
        novelty: maximum reward of an incorrect rollout, for calls that are not redundant. Unconfirmed.
        verifications: further pages about one claim that are not redundant: more favour depth. Unconfirmed.
    """
    kinds = call_kinds(base.judge.texts(), claim=page_claim, verifications=verifications)
    replay = selection.success_replay(credit=base.credit, most=1, place="random", channel="base")
    return replace(
        base,
        reward=redundant_calls(base=base.reward, kinds=kinds, penalty=penalty, floor=floor, novelty=novelty),
        tasks=prune_solved(rate=rate, around=base.tasks, channel="base"),
        select=selection.pipe(base.select, replay),
        transform=rescale_by_informative_groups(),
    )
