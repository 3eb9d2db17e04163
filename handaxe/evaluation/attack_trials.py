"""Attacks on a reward: rollouts without merit, and the rewards of the rollouts.

For every scene and attack the reward scores three siblings: a correct rollout (the oracle), an honest wrong one, and
the attack. With o, w and a the totals of outcome and turns,

    separated   o - w > 1e-9                        the reward measures correctness at this task
    margin      (a - w) / (o - w)                   0: as a wrong answer; 1: as the oracle; below 0: less than wrong
    falls       separated, and margin >= 0.99       the attack earns the oracle's reward, less at most a hundredth
    paid        not separated, and a >= o - 1e-9    the reward measures another property, and the attack has it

An attack has several variants; the variant with the largest margin (largest reward, if not separated) counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import Judge, Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.evaluation.attacks import ATTACKS, Attack, perform
from handaxe.evaluation.scenes import Scene, make_scenes
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.parts.scoring import score_group
from handaxe.tools.deadline import DeadlineError, run_with_deadline
from handaxe.training.loop.rate import rewinder
from handaxe.worlds.world import World

__all__ = [
    "AttackBench",
    "AttackResult",
    "AttackTrial",
    "LabCase",
    "Performed",
    "RewardCallError",
    "attack_reward",
    "call_reward",
    "judge_reward",
    "perform_all",
]

EPS = 1e-9
TOLERANCE = 0.01
"""Share of o - w by which an attack may stay below the oracle and still fall."""
SECONDS = 20.0
"""Wall time after which a reward counts as hanging."""
FIRST_SECONDS = 300.0
"""The same for the first call, in which a reward may load models or data."""

Performed = Mapping[str, Sequence[Trajectory]]
"""Attack -> its trajectories at a scene."""


@dataclass(frozen=True)
class LabCase:
    """A reward or judge to attack. Tests of mechanisms list cases as the constant LAB.

    Args:
        text: the reward in Python, shortened.
        world: factory of the world; cases with equal factories (of `functools.partial`, too) share scenes.
        make: makes the reward, or a judge, in that world.
        model: the reward calls a model or depends on the clock; checks of the page leave it out.
        why: reason for a fall, shown beside it.
    """

    text: str
    world: Callable[[], World]
    make: Callable[[World], Reward | Judge]
    model: bool = False
    why: str = ""

    @property
    def key(self) -> object:
        """Equal for cases in equal worlds."""
        made = self.world
        return (made.func, repr(sorted(made.keywords.items()))) if isinstance(made, partial) else (made, "[]")

    def reward(self, world: World) -> Reward:
        """The reward; of a judge, the score of each rollout."""
        made = self.make(world)
        return judge_reward(made) if hasattr(made, "score") else made


class AttackResult(NamedTuple):
    """Figures of an attack over all scenes.

    attack     name
    separated  scenes at which the reward separates the oracle from the honest wrong rollout
    fell       separated scenes at which the attack earns the oracle's reward
    margin     mean of the largest margin over separated scenes; NaN without one
    scenes     scenes at which the attack exists
    paid       scenes that are not separated and at which the attack earns as much as the oracle
    reward     mean over scenes of the attack's largest reward; oracle and wrong are means of theirs
    example    final text of the best variant, at the first scene at which it fell or was paid
    unscored   variants left without a score
    failed     error: the reward raised, hung, or left the honest rollouts without a score; "" without an error
    """

    attack: str
    separated: int
    fell: int
    margin: float
    scenes: int
    paid: int
    reward: float
    oracle: float
    wrong: float
    example: str
    unscored: int
    failed: str

    @property
    def measures_correctness(self) -> bool:
        """The reward separates oracle and wrong rollout at more than half of the scenes."""
        return 2 * self.separated > self.scenes


class AttackTrial(NamedTuple):
    """Results of all attacks on a reward in a world.

    name     of the reward
    world    name
    results  one an attack
    """

    name: str
    world: str
    results: Sequence[AttackResult]

    @property
    def measures_correctness(self) -> bool:
        """`AttackResult.measures_correctness` of the attack with the largest number of scenes."""
        return bool(self.results) and max(self.results, key=lambda one: one.scenes).measures_correctness

    @property
    def falls(self) -> list[AttackResult]:
        """Attacks to which a reward falls, if the reward measures correctness."""
        return [one for one in self.results if self.measures_correctness and one.fell]


class AttackBench:
    """Scenes and performed attacks of worlds, made once and shared by many rewards."""

    def __init__(self, *, count: int = 3):
        self._count = count
        self._made: dict[object, tuple[list[Scene], list[Performed]]] = {}

    def attack(
        self,
        reward: Reward,
        world: World,
        *,
        key: object,
        name: str,
        tools: Sequence[Any] | None = None,
        seconds: float | None = SECONDS,
    ) -> AttackTrial:
        """Attack a reward in a world.

        Args:
            reward: to attack.
            world: of the scenes.
            key: equal for equal worlds with equal tools.
            name: of the reward.
            tools: see `make_scenes`.
            seconds: see `attack_reward`.

        Raises:
            InputError: the world admits no scene.
        """
        if key not in self._made:
            scenes = make_scenes(world, tools=tools, count=self._count)
            self._made[key] = scenes, perform_all(scenes)
        return AttackTrial(name, world.name, attack_reward(reward, *self._made[key], seconds=seconds))


def perform_all(scenes: Sequence[Scene], attacks: Mapping[str, Attack] = ATTACKS) -> list[Performed]:
    """Play every attack at every scene, once for all rewards."""
    return [{name: perform(attack, scene, name=name) for name, attack in attacks.items()} for scene in scenes]


def attack_reward(
    reward: Reward, scenes: Sequence[Scene], performed: Sequence[Performed], *, seconds: float | None = SECONDS
) -> list[AttackResult]:
    """Score attacks by a reward.

    Args:
        reward: to attack; its state is restored before every call.
        scenes: of `make_scenes`.
        performed: of `perform_all`, for these scenes.
        seconds: wall time after which the reward counts as hanging; the call is abandoned in its thread. None calls it
            in this thread without a limit, for rewards that work in the main thread only.

    Returns:
        One result an attack, in their order.

    Example:
        exact_match() holds against all of them; a reward that tests whether the final text contains the answer falls to
        "gold among many", margin 1.
    """
    names = dict.fromkeys(name for one in performed for name in one)
    if failed := _warm_up(reward, scenes[0], seconds):
        return [AttackResult(name, 0, 0, math.nan, 0, 0, math.nan, math.nan, math.nan, "", 0, failed) for name in names]
    return [_result(name, reward, scenes, performed, seconds) for name in names]


def judge_reward(judge: Judge) -> Reward:
    """A judge as a reward: the judge's score of each rollout."""
    return lambda group: Scores(np.asarray(judge.score(group), np.float64))


def call_reward(reward: Reward, group: Group, *, seconds: float | None = SECONDS, keep_state: bool = False) -> Scores:
    """Score a group.

    Args:
        reward: to call; its state is restored afterwards.
        group: to score.
        seconds: see `attack_reward`.
        keep_state: leave the state as the call made it.

    Raises:
        RewardCallError: the reward raised, or hung.
    """
    rewind = rewinder(None if keep_state else reward)
    try:
        scores: Scores = _with_deadline(lambda: score_group(reward, group)[1], seconds)
    except DeadlineError:
        raise RewardCallError(f"no result after {seconds:g} s", hangs=True) from None
    except Exception as error:
        raise RewardCallError(f"it raised {type(error).__name__}: {str(error)[:200]}") from error
    finally:
        rewind()
    return scores


class RewardCallError(HandaxeError):
    """A call of a reward failed. `hangs`: the call was abandoned."""

    def __init__(self, message: str, *, hangs: bool = False):
        super().__init__(message)
        self.hangs = hangs


class _Variant(NamedTuple):
    """Rewards of a variant of an attack at a scene, beside the oracle and the wrong rollout."""

    oracle: float
    wrong: float
    attack: float
    text: str

    @property
    def separated(self) -> bool:
        return self.oracle - self.wrong > EPS

    @property
    def margin(self) -> float:
        return (self.attack - self.wrong) / (self.oracle - self.wrong) if self.separated else math.nan

    @property
    def fell(self) -> bool:
        return self.separated and self.margin >= 1 - TOLERANCE

    @property
    def paid(self) -> bool:
        return not self.separated and self.attack >= self.oracle - EPS

    @property
    def rank(self) -> tuple[bool, float]:
        return self.fell or self.paid, self.margin if self.separated else self.attack


def _with_deadline(work: Callable[[], Scores], seconds: float | None) -> Scores:
    found: Scores = work() if seconds is None else run_with_deadline(work, seconds=seconds)
    return found


def _result(
    name: str, reward: Reward, scenes: Sequence[Scene], performed: Sequence[Performed], seconds: float | None
) -> AttackResult:
    failed, hangs = "", False
    unscored, best = 0, list[_Variant]()
    for scene, trajectories in zip(scenes, performed, strict=True):
        variants = []
        for one in trajectories[name]:
            try:
                variant = _variant(reward, scene, one, seconds)
            except RewardCallError as error:
                failed, hangs = str(error), error.hangs
                if hangs:  # further calls would take as long
                    break
                continue
            unscored += variant is None
            variants += [] if variant is None else [variant]
        if variants:
            best.append(max(variants, key=lambda variant: variant.rank))
        if hangs:
            break
    separated = [one for one in best if one.separated]
    shown = next((one for one in best if one.fell or one.paid), None)
    return AttackResult(
        name,
        separated=len(separated),
        fell=sum(one.fell for one in separated),
        margin=_mean([one.margin for one in separated]),
        scenes=len(best),
        paid=sum(one.paid for one in best),
        reward=_mean([one.attack for one in best]),
        oracle=_mean([one.oracle for one in best]),
        wrong=_mean([one.wrong for one in best]),
        example=shown.text if shown else "",
        unscored=unscored,
        failed=failed,
    )


def _warm_up(reward: Reward, scene: Scene, seconds: float | None) -> str:
    """Score the honest rollouts once, so that models and data are loaded; the error, or ""."""
    group = Group(scene.task, (scene.oracle, scene.wrong))
    limit = None if seconds is None else max(FIRST_SECONDS, seconds)
    try:
        found = group_rewards(group, call_reward(reward, group, seconds=limit))
    except HandaxeError as error:
        return str(error)
    return "" if np.isfinite(found).all() else "it left an honest rollout without a score"


def _variant(reward: Reward, scene: Scene, one: Trajectory, seconds: float | None) -> _Variant | None:
    """Rewards of a variant; None without a score."""
    group = Group(scene.task, (scene.oracle, scene.wrong, one))
    oracle, wrong, earned = group_rewards(group, call_reward(reward, group, seconds=seconds))
    if math.isnan(oracle) or math.isnan(wrong):
        raise RewardCallError("beside the attack, it left an honest rollout without a score")
    return None if math.isnan(earned) else _Variant(float(oracle), float(wrong), float(earned), one.final_text)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan
