"""MAH-DPO (arXiv:2510.01167): an output layer per objective, trained by DPO on pairs of the objective and mixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.evaluation.policy_rollouts import PolicyRollouts, policy_rollouts
from handaxe.losses.dpo import dpo
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.mah_dpo.head_training import HeadPair, train_heads
from handaxe.papers.mah_dpo.objective_pairs import OBJECTIVES, objective_pairs
from handaxe.papers.mah_dpo.weight_sweep import SHARES, SweepArm, head_sweep_figures
from handaxe.worlds.arithmetic import arithmetic

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
    from handaxe.papers.mah_dpo import many_heads as heads
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")
    heads = DeferredModule("handaxe.papers.mah_dpo.many_heads")

__all__ = ["mah_dpo"]

HELD_OUT = 1_000_000
"""Added to the seed of held-out rollouts."""


def mah_dpo(
    *,
    seeds: int = 4,
    tasks: int = 64,
    samples: int = 6,
    held_out: int = 100,
    most: int = 4,
    epochs: int = 2,
    beta: float = 0.1,
    learning_rate: float = 3e-4,
) -> StudyFunction:
    """Train two heads on preferences for correct and for brief rollouts, and one head on both, and sweep the weights.

    All arms start from the shipped policy in `arithmetic`, with the same pairs in the same order. Correct rollouts call
    the calculator and have more tokens, so that the objectives conflict.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval; ARM is a weight of head 0 (0, 0.25, 0.5,
    0.75, 1), single (one head), or start (before training):
        correct/ARM        share of held-out rollouts with a correct answer
        tokens/ARM         tokens of the policy a rollout
        rise/correct/A-B   correct of weight B less that of a lower weight A; rise/tokens/A-B of tokens
        gain/correct/ARM   correct of an arm less that of single;  saved/ARM: tokens of single less those of an arm
        gain/start         correct of weight 1 less that before training
        pairs/NAME         training pairs of the objective
        margin/NAME        margin of its pairs over the last tenth of the steps: beta times the difference of log-ratios

    Args:
        seeds: draws of tasks, rollouts and head noise, from the study's seed on.
        tasks: training tasks of a seed.
        samples: rollouts of a training task.
        held_out: tasks of a seed that measure, one rollout each at every weight.
        most: pairs of a task and an objective at most.
        epochs: passes over the pairs; 2 in the paper.
        beta: of DPO; 0.1 in the paper.
        learning_rate: of AdamW.

    Example:
        correct 0.5 at weight 1 and 0.4 of the single head  ->  gain/correct/1 0.1

    Paper: arXiv:2510.01167 (MAH-DPO), comparison with DPO on mixed data, and the sweep of weights at inference.
    Differs: a policy of 0.85M parameters, two objectives, and rules in place of annotators.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            pairs = objective_pairs(play("train", tasks=tasks, samples=samples, seed=number), most=most)
            single = [HeadPair(one.pair, 0) for one in pairs]
            many = _trained(pairs, len(OBJECTIVES), number, epochs=epochs, beta=beta, learning_rate=learning_rate)
            one = _trained(single, 1, number, epochs=epochs, beta=beta, learning_rate=learning_rate)
            found = {"start": _played(play, held_out, number)}
            with one.using((1.0,)) as playing:
                found["single"] = _played(playing, held_out, number)
            for share in SHARES:
                with many.using((share, 1 - share)) as playing:
                    found[f"{share:g}"] = _played(playing, held_out, number)
            for name, value in head_sweep_figures(found, pairs, many.steps).items():
                columns.setdefault(name, []).append(value)
        return column_figures(columns, {})

    return measure


class _Trained(NamedTuple):
    """A policy after training, and the metrics of the steps."""

    policy: loading.Policy
    mix: heads.HeadMix
    steps: list[dict[str, float]]

    @contextmanager
    def using(self, weights: Sequence[float]) -> Iterator[PolicyRollouts]:
        """Play with these weights inside the context."""
        with self.mix.use(weights):
            yield policy_rollouts(arithmetic(), policy=self.policy)


def _trained(
    pairs: Sequence[HeadPair], count: int, seed: int, *, epochs: int, beta: float, learning_rate: float
) -> _Trained:
    shipped = loading.load("tiny")
    model = heads.many_heads(shipped.model, heads=count, seed=seed)
    engine = local.LocalEngine(model, reference=True)
    loss = dpo(beta=beta)
    steps = train_heads(engine, model.mix, pairs, loss, epochs=epochs, learning_rate=learning_rate, seed=seed)
    return _Trained(loading.Policy(model, shipped.format), model.mix, steps)


def _played(play: PolicyRollouts, tasks: int, seed: int) -> SweepArm:
    found = play("test", tasks=tasks, samples=1, seed=HELD_OUT + seed)
    tokens = [float(one.num_tokens) for group, _ in found for one in group]
    return SweepArm(float(np.mean([scores.outcome.mean() for _, scores in found])), float(np.mean(tokens)))
