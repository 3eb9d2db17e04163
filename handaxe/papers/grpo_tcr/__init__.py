"""GRPO-TCR: mean over tokens, a higher clip, failures less bad where tools were used, tasks of middling difficulty."""

from typing import Literal

from handaxe.curricula.task_pool import task_pool
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.losses.terms.entropy import entropy
from handaxe.methods.method import Method, replace
from handaxe.rewards.failure_shaping import failure_shaping
from handaxe.rewards.overlong import overlong
from handaxe.rewards.weighted import weighted
from handaxe.training.stages.choose import choose
from handaxe.training.stages.parts.choose_by_label import choose_by_label
from handaxe.training.stages.probe import probe

__all__ = ["grpo_tcr"]
MEANS = {"tokens": token_mean, "attempts": rollout_mean}


def grpo_tcr(
    base: Method, *, eps_high: float = 0.28, most: int = 96, mean: Literal["tokens", "attempts"] = "tokens"
) -> Method:
    """Train with DAPO's loss and length, without its filter, on tasks that are neither always nor never solved.

    Args:
        eps_high: upper clip; 0.28 in the paper.
        most: tasks that are tried beforehand; the 16 nearest to the middle train where fewer are neither.
        mean: of the loss, over all tokens or over those of an attempt first.
    """
    parts = {"answer": (1.0, failure_shaping(base=base.reward)), "overlong": (1.0, overlong(limit=64, cache=32))}
    tried = (
        probe(samples=4, arguments={"reward": base.reward}),
        choose(tasks=choose_by_label(above=0.0, below=1.0, least=16)),
    )
    pool = replace(base, tasks=lambda tasks, seed: task_pool(tasks[:most], seed=seed), stages=(*base.stages, *tried))
    loss = replace(pool, surrogate=dual_clip(eps_high=eps_high, cap=10.0), reduction=MEANS[mean]())
    return replace(loss, reward=weighted(parts), terms=(*base.terms, entropy(coefficient=0.0)))
