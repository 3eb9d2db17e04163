"""GRPO-TCR (arXiv:2510.11701): average over tokens, raise the upper clip, shape failures and length."""

from typing import Literal

from handaxe import losses, rewards
from handaxe.curricula import task_pool
from handaxe.methods.method import Method, replace
from handaxe.training import stages
from handaxe.training.stages.parts.choose_by_label import choose_by_label

__all__ = ["grpo_tcr"]

MEANS = {"tokens": losses.reductions.token_mean, "attempts": losses.reductions.rollout_mean}
POOL = 96
"""Tasks that are probed; at least 16 of them are trained on."""


def grpo_tcr(base: Method, *, eps_high: float = 0.28, mean: Literal["tokens", "attempts"] = "tokens") -> Method:
    """Train with DAPO's loss and length penalty, without the group filter, on tasks of medium accuracy.

    Args:
        eps_high: upper clip; 0.28 in the paper.
        mean: average the loss over all "tokens" of the batch, or within each rollout first ("attempts").
    """
    probe = stages.probe(samples=4, arguments={"reward": base.reward})
    filtered = stages.choose(tasks=choose_by_label(above=0.0, below=1.0, least=16))
    parts = {"answer": (1.0, rewards.failure_shaping(base=base.reward))}
    return replace(
        base,
        tasks=lambda tasks, seed: task_pool(tasks[:POOL], seed=seed),
        stages=(*base.stages, probe, filtered),
        reward=rewards.weighted({**parts, "overlong": (1.0, rewards.overlong(limit=64, cache=32))}),
        surrogate=losses.surrogates.dual_clip(eps_high=eps_high, cap=10.0),
        reduction=MEANS[mean](),
        terms=(*base.terms, losses.terms.entropy(coefficient=0.0)),
    )
