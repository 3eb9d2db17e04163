"""QTA (arXiv:2410.03212): DPO of a query rewriter on the ranks that a frozen retriever gives the needed tools."""

from handaxe.curricula import task_pool
from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.qta.retrieval_rank import retrieval_rank
from handaxe.papers.qta.tool_queries import NOTHING
from handaxe.papers.qta.unmet_requests import unmet_requests
from handaxe.papers.qta.with_raw_query import with_raw_query
from handaxe.selection.pairs import ordered
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.sources import played

__all__ = ["qta"]


def qta(
    base: Method,
    *,
    labels: int = 10,
    sets: int = 40,
    rewrites: int = 32,
    beta: float = 0.1,
    epochs: int = 6,
    rate: float = 3e-4,
) -> Method:
    """Sample rewrites of a few labelled requests, rank the tools for each, and run DPO on best against worst.

    Args:
        labels: labelled requests, among those whose raw form is not sufficient; 10 in the paper.
        sets: of rewrites, over all labelled requests; a pair each, unless all ranks are equal.
        rewrites: m, of a set, beside the raw request.
        beta: of DPO.
        epochs: of DPO.
        rate: learning rate of DPO.
    """
    reward = retrieval_rank()
    source = played(groups=sets, group_size=rewrites, arguments={"reward": reward})
    rollout = base.world.make_rollout(base.settings.max_turns)
    candidates = with_raw_query(source, reward=reward, rollout=rollout, reply=NOTHING)
    tuning = prefer(
        source=candidates,
        pairs=ordered(most=1),
        loss=dpo(beta=beta),
        epochs=epochs,
        learning_rate=rate,
        optional=True,
    )
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(unmet_requests(tasks, labels), seed=seed),
        annotate=(*base.annotate, "ref_logp"),
        closing=(*base.closing, tuning),
    )
