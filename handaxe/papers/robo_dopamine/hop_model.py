"""Model of hops, fitted on pairs of states of expert rollouts; its fused progress rewards turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Group, RatedGroup, Trajectory
from handaxe.judges.frozen_states import FrozenStates
from handaxe.ops.seeds import derive_seed, generator
from handaxe.papers.robo_dopamine.hop_network import fit_network
from handaxe.papers.robo_dopamine.hop_progress import fused_progress, hop_between
from handaxe.papers.robo_dopamine.keyframe_progress import balanced_pairs, keyframe_progress, keyframes
from handaxe.papers.robo_dopamine.shaped_steps import ProgressForm, progress_rewards
from handaxe.training.sft.cold_start import demonstrations
from handaxe.worlds.world import World

__all__ = ["HopModel"]

HELD = 4
"""One of so many demonstrations is held out."""


class HopModel:
    """Step judge: predicts hops between frozen hidden states, fuses three progresses, and rewards turns.

        H(p, q) = network([x_p, x_q]) in [-1, 1]        x: `judges.frozen_states`, standardized
        reward of turn n = `progress_rewards` of the fused Phi

    The stage plays the world's expert and keeps successes. Keyframes are the turns after which a criterion of the world
    is met for the first time, and the end. The goal of the backward anchor is the mean final state of the
    demonstrations.

    Args:
        world: provides expert, criteria and the correctness rule.
        episodes: rollouts of the expert, >= 8; each has another training task.
        pairs: pairs of states that the network is fitted on, >= 1.
        form: of the reward, see `progress_rewards`.
        gamma: discount per turn, in (0, 1].

    Metrics of the stage: demonstrations, keyframes (mean number of segments), and on held-out demonstrations error
    (mean |Phi - true Phi|), order (share of consecutive states whose hop has the true sign). As a learner: rise (mean
    Phi at the end), disagreement (mean largest difference of the three estimates) and paid (mean sum of the rewards of
    turns).

    Raises:
        InputError: a number out of range, scikit-learn is missing, fewer than 4 successes, or scores before the stage.

    Example:
        hops 0.5 then -0.5 of all three estimates: Phi 0, about 0.5, about 0.3

    Paper: arXiv:2512.23703 (Robo-Dopamine), general reward model, adapted to a task by demonstrations.
    Differs: a small network on frozen features of the policy replaces a vision-language model of 3B parameters; states
    are texts. Start and goal are anchors of two estimates alone, not inputs of each comparison.
    """

    def __init__(self, *, world: World, episodes: int, pairs: int, form: ProgressForm = "shaping", gamma: float = 0.99):
        if episodes < 2 * HELD or pairs < 1:
            raise InputError(f"episodes is {episodes} and pairs {pairs}; give {2 * HELD} and 1 or more")
        progress_rewards(np.zeros(1), form=form, gamma=gamma)  # raises early
        for name in ("expert", "criteria", "check"):
            world.need(name)
        self._world = world
        self._episodes = episodes
        self._pairs = pairs
        self._form: ProgressForm = form
        self._gamma = gamma
        self._states = FrozenStates()
        self._fitted: dict[str, np.ndarray] = {}
        self._seen: dict[str, tuple[float, float, float]] = {}

    @property
    def stage(self) -> Stage:
        """The stage that fits the model. A resumed run fits it again, on the same demonstrations."""

        def hop_model(site: StageContext) -> list[dict[str, float]]:
            self._states.begin(site.engine, site.format)
            tasks = self._world.tasks("train", self._episodes, site.seed)
            played = demonstrations(
                self._world, site.env, tasks, count=len(tasks), seed=site.seed, format=site.format, context=1 << 20
            )
            return [{"step": 0.0, **self.fit(played, seed=site.seed)}]

        return hop_model

    def fit(self, played: Sequence[Trajectory], *, seed: int) -> dict[str, float]:
        """Fit the network on the successes; returns the metrics of the stage."""
        frames = {n: keyframes(self._world, one) for n, one in enumerate(played)}
        known = [n for n, own in frames.items() if own]
        if len(known) < HELD:
            raise InputError(f"{len(known)} of {len(played)} demonstrations succeed; raise `episodes`")
        states = self._states.states([played[n] for n in known])
        progress = [keyframe_progress(frames[n]) for n in known]
        own = [k for k in range(len(known)) if k % HELD != HELD - 1]
        held = [k for k in range(len(known)) if k % HELD == HELD - 1]
        drawn = balanced_pairs([progress[k] for k in own], count=self._pairs, rng=generator("hop pairs", seed))
        pairs = [(own[i], p, q) for i, p, q in drawn]
        every_KD = np.concatenate([states[k] for k in own])
        self._fitted = {
            "goal": np.mean([states[k][-1] for k in own], axis=0),
            "mean": every_KD.mean(0),
            "std": every_KD.std(0) + 1e-6,
        }
        before_PD = np.array([states[k][p] for k, p, _ in pairs])
        after_PD = np.array([states[k][q] for k, _, q in pairs])
        hop_P = np.array([hop_between(progress[k][p], progress[k][q]) for k, p, q in pairs])
        self._fitted |= fit_network(self._inputs(before_PD, after_PD), hop_P, seed=derive_seed(seed, "hop") % 2**31)
        error = [np.abs(self.progress(states[k])[0] - progress[k]).mean() for k in held]
        order = [self._hops(states[k][:-1], states[k][1:]) * np.diff(progress[k]) > 0 for k in held]
        return {
            "demonstrations": float(len(known)),
            "segments": float(np.mean([len(frames[n]) - 1 for n in known])),
            "error": float(np.mean(error)),
            "order": float(np.concatenate(order).mean()),
        }

    def progress(self, state_KD: np.ndarray) -> np.ndarray:
        """Estimate the progress of K states in order; [4, K] as `fused_progress`."""
        count = len(state_KD) - 1
        if not count:
            return np.zeros((4, 1))
        start_ND = np.repeat(state_KD[:1], count, axis=0)
        goal_ND = np.repeat(self._fitted["goal"][None], count, axis=0)
        before_MD = np.concatenate([state_KD[:-1], start_ND, goal_ND])
        hop_M = self._hops(before_MD, np.tile(state_KD[1:], (3, 1)))
        return fused_progress(*hop_M.reshape(3, count))

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] rewards of turns of each sibling."""
        if not self._fitted:
            raise InputError("the hop model is not fitted yet: run its stage before the training loop")
        found = []
        for one, state_KD in zip(group, self._states.states(list(group)), strict=True):
            estimates = self.progress(state_KD)
            rewards_N = progress_rewards(estimates[0], form=self._form, gamma=self._gamma)
            apart = float(np.ptp(estimates[1:], axis=0).mean())
            self._seen[one.id] = (float(estimates[0, -1]), apart, float(rewards_N.sum()))
            found.append(rewards_N)
        return tuple(found)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Report the progress of the step's rollouts; nothing is learned."""
        del groups, step
        seen = np.array(list(self._seen.values())).reshape(-1, 3)
        self._seen = {}
        return dict(zip(("rise", "disagreement", "paid"), map(float, seen.mean(0)), strict=True)) if len(seen) else {}

    def state_dict(self) -> dict[str, Any]:
        return {name: torch.tensor(value) for name, value in self._fitted.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._fitted = {name: value.numpy() for name, value in state.items()}

    def _inputs(self, before_PD: np.ndarray, after_PD: np.ndarray) -> np.ndarray:
        mean_D = self._fitted["mean"]
        std_D = self._fitted["std"]
        return np.concatenate([(before_PD - mean_D) / std_D, (after_PD - mean_D) / std_D], axis=1)

    def _hops(self, before_PD: np.ndarray, after_PD: np.ndarray) -> np.ndarray:
        """[P] hops in [-1, 1]."""
        hidden_PH = np.maximum(self._inputs(before_PD, after_PD) @ self._fitted["in"] + self._fitted["in_bias"], 0)
        return np.clip((hidden_PH @ self._fitted["out"] + self._fitted["out_bias"])[:, 0], -1, 1)
