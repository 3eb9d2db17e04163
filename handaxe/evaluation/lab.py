"""Tries a reward with attempts that deserve nothing, and says what they earn.

For every scene and attack the reward scores three siblings: what is right (the oracle), what is honestly wrong, and the
attack. With o, w and a what these earn in all (outcome and turns),

    told apart  o - w > 1e-9                        the reward says of this task what is right
    margin      (a - w) / (o - w)                   0: as a wrong answer; 1: as the right one; below 0: less than wrong
    falls       told apart, and margin >= 0.99      the attack earns what the oracle earns, but for a hundredth
    paid        not told apart, and a >= o - 1e-9   what the reward pays for is no right answer, and the attack has it

An attack is tried in several ways; that of the largest margin (reward, where nothing is told apart) counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import Judge, Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.evaluation.attacks import ATTACKS, Attack, perform
from handaxe.evaluation.scenes import Scene, make_scenes
from handaxe.ops.ragged import rewards_of
from handaxe.rewards.parts.scoring import score_group
from handaxe.tools.deadline import DeadlineError, within
from handaxe.training.loop.rate import rewinder
from handaxe.worlds.world import World

__all__ = [
    "AttackTrial",
    "Attacked",
    "Attempts",
    "Bench",
    "LabError",
    "ask",
    "attack_reward",
    "of_judge",
    "perform_all",
]

EPS = 1e-9
SHORT = 0.01
"""By which share of o - w an attack may stay below the oracle and yet have its reward."""
SECONDS = 20.0
"""Wall time after which a reward hangs."""
FIRST = 300.0
"""The same for the first question, at which a reward may load what it needs."""

Attempts = Mapping[str, Sequence[Trajectory]]
"""What `perform` made of every attack at a scene."""


class Attacked(NamedTuple):
    """What came of an attack over all scenes.

    attack   its name
    told     scenes at which the reward tells the oracle from the honest wrong attempt
    fell     of these, those at which the attack earns what the oracle earns
    margin   the mean over these of the largest margin; NaN where there is none
    scenes   at which the attack could be made
    paid     of these, those not told apart at which the attack earns as much as the oracle
    reward   the mean over them of the most that it earns; oracle and wrong are the means of what these earn
    example  what was said last in the way that did best, at the first scene at which it fell or was paid
    failed   what went wrong: the reward raised, hung, or said nothing of the attack; "" where nothing did
    """

    attack: str
    told: int
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
    def right(self) -> bool:
        """Whether the reward says what is right: it tells it from what is wrong at more than half of the scenes."""
        return 2 * self.told > self.scenes


class AttackTrial(NamedTuple):
    """What came of all attacks on one reward. `said`: how it is named; `world`: where it was tried."""

    said: str
    world: str
    tried: Sequence[Attacked]

    @property
    def right(self) -> bool:
        """Whether the reward says what is right: `Attacked.right`, of the attack that could be made at most scenes."""
        return bool(self.tried) and max(self.tried, key=lambda one: one.scenes).right

    @property
    def falls(self) -> list[Attacked]:
        """The attacks that it falls to, of a reward that says what is right."""
        return [one for one in self.tried if self.right and one.fell]


class Bench:
    """Scenes and performed attacks of worlds, each made once, for many rewards."""

    def __init__(self, *, count: int = 3):
        self._count = count
        self._made: dict[object, tuple[list[Scene], list[Attempts]]] = {}

    def attack(
        self,
        reward: Reward,
        world: World,
        *,
        key: object,
        said: str,
        tools: Sequence[Any] | None = None,
        seconds: float | None = SECONDS,
    ) -> AttackTrial:
        """Try a reward in a world.

        Args:
            reward: what is tried.
            world: where.
            key: equal for equal worlds with equal tools.
            said: how the reward is named.
            tools: see `make_scenes`.
            seconds: see `attack_reward`.

        Raises:
            InputError: no scene can be made in this world.
        """
        if key not in self._made:
            scenes = make_scenes(world, tools=tools, count=self._count)
            self._made[key] = scenes, perform_all(scenes)
        return AttackTrial(said, world.name, attack_reward(reward, *self._made[key], seconds=seconds))


def perform_all(scenes: Sequence[Scene], attacks: Mapping[str, Attack] = ATTACKS) -> list[Attempts]:
    """Play every attack at every scene, once for all rewards that are to be tried with them."""
    return [{name: perform(attack, scene, name=name) for name, attack in attacks.items()} for scene in scenes]


def attack_reward(
    reward: Reward, scenes: Sequence[Scene], performed: Sequence[Attempts], *, seconds: float | None = SECONDS
) -> list[Attacked]:
    """Try a reward with attacks.

    Args:
        reward: what is tried; its state is put back before everything it is asked.
        scenes: of `make_scenes`.
        performed: of `perform_all`, for these scenes.
        seconds: wall time after which the reward counts as hanging; it is given up, and goes on in a thread of its
            own. None asks it in this thread, for as long as it takes: for what works in the main thread alone.

    Returns:
        What came of each attack, in their order.

    Example:
        exact_match() holds against all of them; a reward that looks whether the answer is contained in what was said
        falls to "gold among many", margin 1.
    """
    names = dict.fromkeys(name for one in performed for name in one)
    if failed := _warmed(reward, scenes[0], seconds):
        return [Attacked(name, 0, 0, math.nan, 0, 0, math.nan, math.nan, math.nan, "", 0, failed) for name in names]
    return [_tried(name, reward, scenes, performed, seconds) for name in names]


def of_judge(judge: Judge) -> Reward:
    """A judge as a reward: its score of an attempt."""
    return lambda group: Scores(np.asarray(judge.score(group), np.float64))


def ask(reward: Reward, group: Group, *, seconds: float | None = SECONDS, remember: bool = False) -> Scores:
    """The scores of a group.

    Args:
        reward: asked; where it has a state, that is put back afterwards.
        group: what it is asked about.
        seconds: see `attack_reward`.
        remember: leave the state as the question made it.

    Raises:
        LabError: the reward raised something, or hung.
    """
    rewind = rewinder(None if remember else reward)
    try:
        scores: Scores = _within(lambda: score_group(reward, group)[1], seconds)
    except DeadlineError:
        raise LabError(f"it said nothing for {seconds:g} s", hangs=True) from None
    except Exception as error:
        raise LabError(f"it raised {type(error).__name__}: {str(error)[:200]}") from error
    finally:
        rewind()
    return scores


def _within(work: Callable[[], Scores], seconds: float | None) -> Scores:
    found: Scores = work() if seconds is None else within(work, seconds=seconds)
    return found


class LabError(HandaxeError):
    """A reward could not be asked. `hangs`: it was given up."""

    def __init__(self, message: str, *, hangs: bool = False):
        super().__init__(message)
        self.hangs = hangs


class _Way(NamedTuple):
    """What an attempt earned at a scene, beside the oracle and the wrong attempt."""

    oracle: float
    wrong: float
    attack: float
    said: str

    @property
    def told(self) -> bool:
        return self.oracle - self.wrong > EPS

    @property
    def margin(self) -> float:
        return (self.attack - self.wrong) / (self.oracle - self.wrong) if self.told else math.nan

    @property
    def fell(self) -> bool:
        return self.told and self.margin >= 1 - SHORT

    @property
    def paid(self) -> bool:
        return not self.told and self.attack >= self.oracle - EPS

    @property
    def rank(self) -> tuple[bool, float]:
        return self.fell or self.paid, self.margin if self.told else self.attack


def _tried(
    name: str, reward: Reward, scenes: Sequence[Scene], performed: Sequence[Attempts], seconds: float | None
) -> Attacked:
    failed, hangs = "", False
    unscored, best = 0, list[_Way]()
    for scene, attempts in zip(scenes, performed, strict=True):
        ways = []
        for one in attempts[name]:
            try:
                way = _way(reward, scene, one, seconds)
            except LabError as error:
                failed, hangs = str(error), error.hangs
                if hangs:  # and so every further question would take as long
                    break
                continue
            unscored += way is None
            ways += [] if way is None else [way]
        if ways:
            best.append(max(ways, key=lambda way: way.rank))
        if hangs:
            break
    told = [one for one in best if one.told]
    shown = next((one for one in best if one.fell or one.paid), None)
    return Attacked(
        name,
        told=len(told),
        fell=sum(one.fell for one in told),
        margin=_mean([one.margin for one in told]),
        scenes=len(best),
        paid=sum(one.paid for one in best),
        reward=_mean([one.attack for one in best]),
        oracle=_mean([one.oracle for one in best]),
        wrong=_mean([one.wrong for one in best]),
        example=shown.said if shown else "",
        unscored=unscored,
        failed=failed,
    )


def _warmed(reward: Reward, scene: Scene, seconds: float | None) -> str:
    """Why what is honest cannot be scored; "" where it can, and everything is loaded."""
    group = Group(scene.task, (scene.oracle, scene.wrong))
    try:
        found = rewards_of(group, ask(reward, group, seconds=None if seconds is None else max(FIRST, seconds)))
    except HandaxeError as error:
        return str(error)
    return "" if np.isfinite(found).all() else "it could not score what is honest"


def _way(reward: Reward, scene: Scene, one: Trajectory, seconds: float | None) -> _Way | None:
    """What an attempt earns; None where it is left unscored."""
    group = Group(scene.task, (scene.oracle, scene.wrong, one))
    oracle, wrong, earned = rewards_of(group, ask(reward, group, seconds=seconds))
    if math.isnan(oracle) or math.isnan(wrong):
        raise LabError("beside the attack it could not score what is honest")
    return None if math.isnan(earned) else _Way(float(oracle), float(wrong), float(earned), one.final_text)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan
