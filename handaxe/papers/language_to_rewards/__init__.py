"""Language to Rewards (arXiv:2306.08647): a policy writes the reward of an optimiser, or calls primitive skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Sampling
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.language_to_rewards.expert_share import expert_share
from handaxe.papers.language_to_rewards.motion_commands import Form, motion_commands
from handaxe.training.sft.cold_start import start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["language_to_rewards"]

TURNS = 2
MAX_TOKENS = 64
"""Tokens of a turn; the longest call has 51 bytes."""


def language_to_rewards(*, tasks: int = 25, seeds: int = 8, skill: int = 300) -> StudyFunction:
    """Measure three translators of instructions on held-out meanings: each a policy after equally many demonstrations.

    Figures:
        FORM              share of the instructions that are carried out, for described, direct and primitives
        gain/FORM         that share of described less that of the form, mean over seeds; /low and /high are the ends of
                          its 95 % interval
        expert/rewards, expert/primitives   share that the demonstrations carry out

    Args:
        tasks: of a seed.
        seeds: of tasks and rollouts, from the study's seed on.
        skill: supervised steps of 8 demonstrations for each policy, trained with the study's seed.
    """

    def measure(seed: int) -> dict[str, float]:
        rows = range(seed, seed + seeds)
        shares = {form: _shares(form, rows, tasks, skill) for form in get_args(Form)}
        held_out = [task for own in rows for task in motion_commands().tasks("test", tasks, own)]
        experts = {f"expert/{name}": value for name, value in expert_share(held_out).items()}
        return {**_figures(shares), **experts}

    return measure


def _shares(form: Form, seeds: Sequence[int], tasks: int, skill: int) -> np.ndarray:
    """Success of the form's policy, [S]."""
    world = motion_commands(form=form, skill=skill)
    policy = start_policy(world, seed=seeds[0])
    engine = local.LocalEngine(policy.model)
    found = [
        evaluate(
            engine=engine,
            format=policy.format,
            env=world.env(world.tools),
            rollout=world.make_rollout(TURNS),
            tasks=world.tasks("test", tasks, seed),
            reward=world.correct,
            sampling=Sampling(max_tokens=MAX_TOKENS),
            seed=seed,
        )
        for seed in seeds
    ]
    return np.array([one.metrics["pass@1"].value for one in found], np.float64)


def _figures(shares: Mapping[Form, np.ndarray]) -> dict[str, float]:
    """Means over seeds, and paired differences of the described form to the others."""
    figures = {str(form): float(own_S.mean()) for form, own_S in shares.items()}
    for form in ("direct", "primitives"):
        figures |= interval_figures(f"gain/{form}", shares["described"] - shares[form])  # type: ignore[index]
    return figures
