"""HDPO (arXiv:2604.08545): give accuracy and tool efficiency an advantage and a policy loss each."""

from handaxe import credit, rewards
from handaxe.curricula import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.hdpo.channel_loss import channel_loss
from handaxe.papers.hdpo.per_channel import per_channel
from handaxe.training import stages
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["hdpo"]

SAMPLES = 8
"""Rollouts of a probed task: the paper's filter by pass@8."""


def hdpo(base: Method, *, tools_weight: float = 0.15, scalar_weight: float = 0.0, probe_tasks: int = 64) -> Method:
    """Train on answer and format; add a second policy loss on tool efficiency among correct siblings.

    Tasks with 0 or 8 correct of 8 rollouts of the initial policy are dropped.

    Args:
        tools_weight: weight of the efficiency loss; 0.15 in the paper.
        scalar_weight: weight of efficiency inside the one scalar reward, the paper's comparison; 0 in the paper.
        probe_tasks: tasks that are probed; at least 16 of them are trained on.
    """
    few = rewards.gate(on=base.reward, then=rewards.call_cost(form="inverse"), above=0.0, mark_eligible=True)
    parts = {"answer": (0.9, base.reward), "format": (0.1, rewards.well_formed()), "few": (scalar_weight, few)}
    efficiency = {"few": credit.group_norm(channel="few", stats_over="eligible")}
    loss = channel_loss(
        channel="few", coefficient=tools_weight, ratio=base.ratio, surrogate=base.surrogate, reduction=base.reduction
    )
    probe = stages.probe(samples=SAMPLES, arguments={"reward": base.reward})
    filtered = stages.choose(tasks=choose_by_label(above=0.0, below=1.0, least=16))
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(tasks[:probe_tasks], seed=seed),
        stages=(*base.stages, probe, filtered),
        reward=rewards.weighted(parts),
        credit=per_channel(base.credit, efficiency),
        terms=(*base.terms, loss),
    )
