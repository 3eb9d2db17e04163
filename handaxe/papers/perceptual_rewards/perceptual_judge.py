"""Step judge: rewards each turn by the steps of demonstrations that the state after the turn looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Group, RatedGroup, Trajectory
from handaxe.judges.frozen_states import FrozenStates
from handaxe.papers.perceptual_rewards.segments import segment_demonstrations
from handaxe.papers.perceptual_rewards.step_classifiers import StepClassifiers, combined_reward, fit_classifiers
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.world import World

__all__ = ["PerceptualJudge"]

HELD = 4
"""One of so many demonstrations is held out."""
LEAST = 2
"""States of a segment at least."""
WINDOW = 3
"""Observations that describe a state."""


class PerceptualJudge:
    """Rewards of turns from a handful of demonstrations, without labels of steps.

        x        `judges.frozen_states`, standardized over the demonstrations
        steps    `segment_demonstrations`, then `fit_classifiers` on the frames of all demonstrations
        reward of turn k = combined_reward(probabilities(x after turn k)) / ((2^n - 2) / n), in [0, 1]

    The stage plays the world's expert and keeps successes.

    Args:
        world: provides expert and the correctness rule.
        episodes: rollouts of the expert, >= 8; each has another training task.
        segments: n steps, >= 2.
        features: of each step.
        alpha: of the selection of features.

    Metrics of the stage: demonstrations, deviation (mean standard deviation within segments, relative to that of whole
    demonstrations), and on held-out demonstrations found (share of states whose likeliest step is that of the split)
    and order (share of demonstrations whose reward is higher in the last state than in the first). As a learner: reward
    (mean over turns), last (mean after the last turn), and spread (standard deviation of the rewards of turns).

    Raises:
        InputError: a number out of range, fewer than 4 successes, or scores before the stage.

    Example:
        n 3, R_2 = 1 and R_3 = 0.5  ->  1.3333 / 2 = 0.6667

    Paper: arXiv:1612.06699 (Unsupervised Perceptual Rewards).
    Differs: features are hidden states of a frozen language model on texts; the paper has Inception's on images. Scores
    are divided by the largest, so that a weight sets the scale.
    """

    def __init__(self, *, world: World, episodes: int, segments: int = 3, features: int = 32, alpha: float = 5.0):
        if episodes < 2 * HELD or segments < 2 or features < 1 or not alpha > 0:
            raise InputError(
                f"episodes {episodes}, segments {segments}, features {features}, alpha {alpha}: give {2 * HELD}, 2 "
                "and 1 or more, and a number above 0"
            )
        world.need("expert")
        self._world = world
        self._episodes = episodes
        self._segments = segments
        self._features = features
        self._alpha = alpha
        self._states = FrozenStates(window=WINDOW)
        self._fitted: dict[str, np.ndarray] = {}
        self._seen: list[np.ndarray] = []

    @property
    def stage(self) -> Stage:
        """The stage that fits the judge. A resumed run fits it again, on the same demonstrations."""

        def perceptual_judge(site: StageContext) -> list[dict[str, float]]:
            self._states.begin(site.engine, site.format)
            tasks = self._world.tasks("train", self._episodes, site.seed)
            played = demonstrations(
                self._world, site.env, tasks, count=len(tasks), seed=site.seed, format=site.format, context=1 << 20
            )
            return [{"step": 0.0, **self.fit(played)}]

        return perceptual_judge

    def fit(self, played: Sequence[Trajectory]) -> dict[str, float]:
        """Segment the successes and fit the classifiers; returns the metrics of the stage."""
        known = [one for one in played if self._world.correct(Group(one.task, (one,))).outcome[0] > 0]
        known = [one for one in known if len(one.turns) + 1 >= LEAST * self._segments]
        if len(known) < HELD:
            raise InputError(
                f"{len(known)} of {len(played)} demonstrations succeed and are long enough; raise `episodes`"
            )
        states = self._states.states(known)
        own = [one for k, one in enumerate(states) if k % HELD != HELD - 1]
        every_TD = np.concatenate(own)
        self._fitted = {"mean": every_TD.mean(0), "std": every_TD.std(0) + 1e-6}
        scaled = [self._scaled(one) for one in own]
        steps = segment_demonstrations(scaled, segments=self._segments, least=LEAST)
        made = fit_classifiers(
            np.concatenate(scaled), np.concatenate(steps), features=self._features, alpha=self._alpha
        )
        self._fitted |= made._asdict()
        within = [one[step == k].std(0).mean() for one, step in zip(scaled, steps, strict=True) for k in set(step)]
        whole = [one.std(0).mean() for one in scaled]
        held = [self._scaled(one) for k, one in enumerate(states) if k % HELD == HELD - 1]
        true = np.concatenate(segment_demonstrations(held, segments=self._segments, least=LEAST))
        likeliest = np.concatenate([made.probabilities(one).argmax(1) for one in held])
        ends = [combined_reward(made.probabilities(one[[0, -1]])) for one in held]
        return {
            "demonstrations": float(len(known)),
            "deviation": float(np.mean(within) / np.mean(whole)),
            "found": float((true == likeliest).mean()),
            "order": float(np.mean([end > start for start, end in ends])),
        }

    def rewards(self, state_KD: np.ndarray) -> np.ndarray:
        """[K] rewards of states, in [0, 1]."""
        if not self._fitted:
            raise InputError("the perceptual reward is not fitted yet: run its stage before the training loop")
        made = StepClassifiers(*(self._fitted[name] for name in StepClassifiers._fields))
        most = (2**self._segments - 2) / self._segments
        return combined_reward(made.probabilities(self._scaled(state_KD))) / most

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] rewards of turns of each sibling."""
        found = tuple(self.rewards(one)[1:] for one in self._states.states(list(group)))
        self._seen += [one for one in found if len(one)]
        return found

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Report the rewards of the step; nothing is learned."""
        del groups, step
        if not self._seen:
            return {}
        turns = np.concatenate(self._seen)
        last = [float(one[-1]) for one in self._seen]
        self._seen = []
        return {"reward": float(turns.mean()), "last": float(np.mean(last)), "spread": float(turns.std())}

    def state_dict(self) -> dict[str, Any]:
        return {name: torch.tensor(value) for name, value in self._fitted.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._fitted = {name: value.numpy() for name, value in state.items()}

    def _scaled(self, state_KD: np.ndarray) -> np.ndarray:
        scaled_KD: np.ndarray = (state_KD - self._fitted["mean"]) / self._fitted["std"]
        return scaled_KD
