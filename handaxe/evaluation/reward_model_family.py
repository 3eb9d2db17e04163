"""Reward models of different quality on rollouts of a policy, for correlations of benchmarks with best-of-n."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.heads import Head
from handaxe.core.protocols import Engine
from handaxe.core.records import Group, RatedGroup, Trajectory
from handaxe.evaluation.play_groups import play_groups
from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.reward_model import RewardModel, reward_model
from handaxe.ops.aggregates import AGGREGATES, Aggregate
from handaxe.ops.seeds import derive_seed
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["FamilyMember", "fit_family", "start_family"]

Kind = Literal["orm", "prm"]
KINDS: tuple[Kind, ...] = ("orm", "prm")
CUTS = (6, 24, 72)
"""Labelled groups of the members of a series."""


class FamilyMember(NamedTuple):
    """A reward model with a name.

    name  kind, labelled groups and seed, such as "prm-32-0"
    """

    name: str
    judge: RewardModel

    def score(self, group: Group, aggregate: Aggregate = "min") -> np.ndarray:
        """[G] scores: the outcome model's, or an aggregate of step probabilities; 0 for a rollout without a turn."""
        if self.name.startswith("orm"):
            return self.judge.score(group)
        steps = self.judge.score_steps(group)
        return np.array([AGGREGATES[aggregate](own) if len(own) else 0.0 for own in steps], np.float64)


def fit_family(
    engine: Engine,
    groups: Sequence[Sequence[RatedGroup]],
    *,
    labels: Callable[[Trajectory], np.ndarray],
    cuts: Sequence[int] = CUTS,
    learning_rate: float = 5e-4,
) -> Iterator[FamilyMember]:
    """Fit outcome and process reward models to more and more labels.

    A series is a kind and a seed; its members are the same model after more and more labelled groups, a pass over each
    part. Use a member before the next one is asked for: the model goes on learning.

    Args:
        engine: of the policy; every series starts from a copy.
        groups: labelled rollouts of each seed.
        labels: (trajectory) -> [N] correctness of each turn, 1 or -1, NaN where unknown; of process models.
        cuts: labelled groups of the members, ascending.
        learning_rate: of AdamW.

    Returns:
        Members, two kinds times seeds times cuts.

    Example:
        two seeds, three cuts: 12 members, "orm-6-0", "orm-24-0", "orm-72-0", "prm-6-0", ...

    Idea: judges that differ in labels and kind alone have known reasons to differ in quality.
    """
    for seed, own in enumerate(groups):
        for kind in KINDS:
            judge = reward_model(
                reads="end" if kind == "orm" else "turns",
                steps=None if kind == "orm" else exact_steps(verdicts=labels),
                head=Head(init="normal", seed=seed),
                squash=True,
                batch_size=4,
                learning_rate=learning_rate,
            )
            judge.begin(engine)
            for before, cut in zip((0, *cuts), cuts, strict=False):
                judge.fit([(one.group, one.scores) for one in own[before:cut]])
                yield FamilyMember(f"{kind}-{cut}-{seed}", judge)


def start_family(
    world: World,
    *,
    labels: Callable[[Trajectory], np.ndarray],
    salt: str,
    seed: int,
    series: int,
    labelled: int,
    siblings: int,
) -> tuple[Callable[..., list[RatedGroup]], Iterator[FamilyMember]]:
    """Load the cold start of a world, and fit a family to labelled rollouts of this policy.

    Members have a twelfth, a third and all of the labelled groups.

    Args:
        world: of policy and training tasks.
        labels: see `fit_family`.
        salt: of the training tasks, together with seed and number of the series.
        seed: of the study.
        series: seeds of judges; each has six.
        labelled: labelled groups of a series.
        siblings: rollouts of a labelled group.

    Returns:
        `play_groups` of the policy, without split, tasks, siblings and seed; and the members, each fitted when it is
        asked for.

    Example:
        start_family(fact_chains(), ..., series=2, labelled=72): 12 members, "orm-6-0", "orm-24-0", "orm-72-0", ...

    Idea: studies of benchmarks differ in the benchmark, not in judges.
    """
    policy = start_policy(world)
    engine = local.LocalEngine(policy.model)
    play = partial(play_groups, engine, policy.format, world)
    seeds = [derive_seed(salt, seed, k) % 2**31 for k in range(series)]
    lessons = [play(split="train", tasks=labelled, siblings=siblings, seed=own) for own in seeds]
    return play, fit_family(engine, lessons, labels=labels, cuts=(labelled // 12, labelled // 3, labelled))
