"""The base of a method on the groups of the method: rollouts, ratings, and parts of the update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from handaxe.core.endings import treatments
from handaxe.core.protocols import Curriculum, HiddenMeasure, Loss, Reward
from handaxe.core.records import PlayedGroup, RatedGroup, Sampling, ScoredGroup, Task, Trajectory
from handaxe.methods.build import TRAIN, make_loss, make_updates
from handaxe.methods.method import Method
from handaxe.methods.named_curriculum import make_curriculum
from handaxe.methods.run_spec import RunSpec
from handaxe.rewards.permuted import permuted
from handaxe.selection.parts.dispositions import live
from handaxe.training.loop.config import AsyncConfig, Updates
from handaxe.training.loop.learners import learn_all, named_learners
from handaxe.training.loop.player import Player
from handaxe.training.loop.rate import annotate, rate_group, score_played
from handaxe.training.loop.select import Selection, annotate_added, apply_transform

__all__ = ["BaseSide"]

RESCORED = ("verifier_error", "reward")
"""Authors of dispositions that a reward caused."""


@dataclass
class BaseSide:
    """The base of a method in a run of the method: parts with their state across steps.

    Args:
        method: the base.
        made: arguments of `train` for the method.
        reward, tasks, loss, updates: of the base.
    """

    method: Method
    made: dict[str, Any]
    reward: Reward
    tasks: Curriculum
    loss: Loss
    updates: Updates

    @classmethod
    def of(cls, spec: RunSpec, method: Method, made: dict[str, Any]) -> BaseSide:
        """Make the parts of the base.

        Args:
            spec: run of the base.
            method: the base.
            made: arguments of `train` for the method.
        """
        seed, train = spec.settings.seed, method.world.tasks("train", TRAIN, spec.settings.seed)
        reward = permuted(method.reward, seed=seed) if spec.settings.permute_rewards else method.reward
        tasks = make_curriculum(spec, method, method.world, train)
        return cls(method, made, reward, tasks, make_loss(method), make_updates(method))

    def rate(self, rated: Sequence[RatedGroup], step: int, given: Sequence[str | HiddenMeasure]) -> list[RatedGroup]:
        """Score, rate, select and transform played groups, as the base does.

        Args:
            rated: the groups as the method rated them.
            step: number of the step, from 0.
            given: features measured by the method; features outside of the base are removed.

        Raises:
            HandaxeError: a part of the base cannot use the groups.
        """
        method, engine = self.method, self.made["engine"]
        own = [_name(one) for one in method.annotate]
        foreign = [_name(one) for one in given if _name(one) not in own]
        fresh = []
        for one in rated:
            played = _without_features(_unscored_yet(one.played), foreign)
            scored = score_played(
                played, self.reward, treatment=treatments(self.made["run"].on_ending), retries=self.made["run"].retries
            )
            if isinstance(scored, ScoredGroup):
                fresh.append(rate_group(annotate(scored, engine, method.annotate), method.credit))
        self.tasks.observe(fresh)
        learn_all(named_learners(method.learners), fresh, step)
        selection = Selection(method.select, self.made["groups"] if method.async_config.rounds > 1 else None)
        selected = live(selection.without_surplus(selection(fresh), fresh))
        return apply_transform(method.transform, annotate_added(selected, fresh, engine, method.annotate))

    def play(self, tasks: list[Task], step: int) -> list[Trajectory]:
        """Play the tasks with the rollout strategy and the sampling of the base, under the present weights."""
        sampling = self.method.sampling
        roles = (self.made["engine"], self.made["format"], self.made["env"], self.method.rollout)
        with Player(
            *roles,
            Sampling(max_tokens=self.method.settings.max_tokens) if sampling is None else sampling,
            async_config=AsyncConfig(lockstep=True),
            run=self.made["run"],
            steps=step + 1,
            groups=len(tasks),
            group_size=self.made["group_size"],
            seed=self.made["seed"],
        ) as player:
            rounds = player.rounds(_Fixed(tasks), step)
            return [one for finishing in rounds for placed in finishing for one in placed.group.group]


class _Fixed:
    """Curriculum of given tasks."""

    def __init__(self, tasks: list[Task]):
        self._tasks = tasks

    def next(self, step: int, count: int) -> list[Task]:
        return self._tasks[:count]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Do nothing."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Do nothing."""


def _unscored_yet(played: PlayedGroup) -> PlayedGroup:
    """The group before its reward and selection."""
    first = tuple(
        tuple(one for one in own if one.kind != "trained" and one.by not in RESCORED) for own in played.dispositions
    )
    return replace(played, dispositions=first)


def _without_features(played: PlayedGroup, names: Sequence[str]) -> PlayedGroup:
    """The group without features; rollouts with FORCED tokens keep old_logp, without which these cannot train."""

    def own(one: Trajectory) -> Trajectory:
        kept = ("old_logp",) if any(sequence.forced.any() for sequence in one.sequences) else ()
        sequences = tuple(
            replace(s, features={name: x for name, x in s.features.items() if name in kept or name not in names})
            for s in one.sequences
        )
        return replace(one, sequences=sequences)

    if not names:
        return played
    return replace(played, group=replace(played.group, trajectories=tuple(map(own, played.group))))


def _name(feature: str | HiddenMeasure) -> str:
    return feature if isinstance(feature, str) else feature.name
