"""Games of the package textarena for one player: guessing games, boards and puzzles, played by a tool.

Kept: a world of games for users.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.parts.met_by_turn import met_by_turn
from handaxe.worlds.textarena.family import State
from handaxe.worlds.textarena.game import FAMILIES, ArenaGame, find_plan
from handaxe.worlds.textarena.games import check_games, game_family
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["textarena"]

WITH_EXPERT = (
    "Countdown-v0",
    "FrozenLake-v0-random",
    "GuessTheNumber-v0",
    "LightsOut-v0",
    "Mastermind-v0",
    "PegJump-v0",
    "RushHour-v0",
    "Sudoku-v0-very-easy",
    "TowerOfHanoi-v0",
)
"""Games with an expert, one variant of each."""
SHORT = ("Countdown-v0", "FrozenLake-v0-random", "GuessTheNumber-v0", "PegJump-v0", "TowerOfHanoi-v0")
"""Games with the shortest conversations that the tiny policy learns to win."""
START = Start(skill=200, steps=0, batch_size=16, learning_rate=2e-3)
TURNS = 12
"""Turn limit of a demonstration."""
CONTEXT = 1024


def textarena(*, games: tuple[str, ...] = SHORT, longest: int = 8, instances: int = 900, brief: bool = True) -> World:
    """Games of textarena for one player, each played to its end with the tool `play`.

    A rollout is correct if the game gives its full reward of 1. Two rejected actions in a row lose a game, as in the
    package. The expert searches (FrozenLake, TowerOfHanoi, PegJump, RushHour, Countdown, Sudoku), eliminates
    (LightsOut), bisects (GuessTheNumber), or guesses a code consistent with all replies (Mastermind), from the visible
    state alone. Countdown, PegJump and TowerOfHanoi have one start in the package; here starts are drawn.

    Args:
        games: registered names of textarena. LightsOut-v0, Mastermind-v0, RushHour-v0 and Sudoku-v0-very-easy have an
            expert, too. Without an expert, and so without a start: 2048, Bandit, Blackjack, Crosswords, LogicPuzzle,
            Minesweeper, Secretary, Slitherlink, Sokoban, ThreeCardMonte.
        longest: maximum number of the expert's actions; games with longer plans are excluded.
        instances: number of games, 8 or more for each name; about a quarter is in test. Longer task lists repeat games.
        brief: describe states in key words, which the tiny policy can learn to read; otherwise the game's own text.

    Returns:
        A world broken down by "game", with the gauges actions (their number), accepted (share of actions that the game
        accepts), game_reward (the game's own, partial for a lost game) and, with an expert, left (missing actions at
        the end). Criteria are met when few enough actions are missing. Give rollouts some turns more than `longest`.

    Raises:
        InputError: an unknown or excluded game, an argument out of range, no game with a plan this short, or a missing
            package (extra [textarena]).

    Example:
        "guess 1 to 20" and play("10") -> "higher", play("15") -> "lower", play("12") -> "won"
    """
    check_games(games, tuple(FAMILIES))
    if longest < 1 or instances < 8 * len(games):
        raise InputError(
            f"longest is 1 or more and instances 8 or more for each game: they are {longest}, and {instances} for "
            f"{len(games)} games"
        )
    planned = all(FAMILIES[game_family(name)].plan is not None for name in games)

    @functools.cache
    def begin(number: int) -> _Opening:
        return _open(games[number % len(games)], number, brief)

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(begin, games, longest, instances, split, seed, n) for n in range(count)]

    def env(tools: Sequence[Any]) -> EnvFactory:
        probe = tool_chat(tools)  # raises early for bad tools

        def make(task: Task) -> Env:
            return _ArenaEnv(task, tools, copy.deepcopy(begin(task.metadata["number"]).game))

        return inherit_bound(make, probe)

    gauges = {
        "actions": RatioMetric(lambda one, right: float(_final(one, "steps"))),
        "accepted": RatioMetric(
            lambda one, right: float(_final(one, "accepted")), lambda one, right: float(_final(one, "steps"))
        ),
        "game_reward": RatioMetric(lambda one, right: float(_final(one, "reward"))),
    }
    if planned:
        gauges["left"] = RatioMetric(lambda one, right: float(_missing(one.task, one.env["state"]["ArenaGame"])))
    return World(
        name="textarena",
        tasks=tasks,
        env=env,
        correct=outcome(lambda one: float(_final(one, "won"))),
        breakdown=("game",),
        hidden_keys=("secret",),
        expert=_expert if planned else None,
        start=START if planned and brief else None,
        start_turns=TURNS,
        start_context=CONTEXT,
        criteria=_criteria if planned else None,
        check=_check if planned else None,
        gauges=gauges,
    )


class _Opening(NamedTuple):
    """Game at its start (rollouts play copies), visible state and secret, length of the expert's plan, and split."""

    game: ArenaGame
    state: State | None
    secret: Any
    length: int | None
    split: Split


def _open(name: str, number: int, brief: bool) -> _Opening:
    game = ArenaGame(name, number, brief=brief)
    state, secret = game.state(), game.secret()
    plan = None if state is None else find_plan(name, state, secret)
    content = game.opening if state is None else state
    split: Split = content_split("textarena split", name, repr(content), secret)
    return _Opening(game, state, secret, None if plan is None else len(plan), split)


def _task(
    begin: Callable[[int], _Opening],
    games: Sequence[str],
    longest: int,
    instances: int,
    split: Split,
    seed: int,
    n: int,
) -> Task:
    """Task of the n-th game name, cyclically: a drawn instance of the split with a plan short enough."""
    rng = random.Random(derive_seed("textarena", *games, longest, split, seed, n))
    name = games[n % len(games)]
    numbers = range(n % len(games), instances, len(games))
    for number in rng.sample(numbers, len(numbers)):
        made = begin(number)
        fits = made.state is None or (made.length is not None and 1 <= made.length <= longest)
        if made.split == split and fits:
            break
    else:
        raise InputError(
            f"of {len(numbers)} instances of {name}, none to {split} has a plan of {longest} actions or fewer: raise "
            "longest or instances"
        )
    metadata = {
        "game": name,
        "number": number,
        "length": made.length,
        "state": made.state,
        "secret": made.secret,
    }
    return Task(f"textarena-{split}-{seed}-{n}", (Message("user", made.game.opening),), None, None, metadata)


def _expert(task: Task, facts: Facts) -> Message:
    state = facts.get("state", task.metadata["state"])
    plan = None if facts.get("over") else find_plan(task.metadata["game"], state)
    if not plan or "play" not in facts["tools"]:
        return Message("assistant", "I give up")
    return Message("assistant", "", (ToolCall("play", {"action": plan[0]}),))


def _missing(task: Task, facts: Facts) -> int:
    """Missing actions of the expert; the number at the start if the game is lost or cannot be won any more."""
    if facts["won"]:
        return 0
    plan = None if facts["over"] else find_plan(task.metadata["game"], facts["state"], task.metadata["secret"])
    return task.metadata["length"] if plan is None else len(plan)


def _criteria(task: Task) -> list[Criterion]:
    return [
        Criterion(f"{n} left", f"{n} actions or fewer are missing.") for n in reversed(range(task.metadata["length"]))
    ]


def _check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Check criteria by rule from the states after each turn; met criteria stay met."""
    limits = [int(one.name.split()[0]) for one in criteria]

    def met(facts: Facts) -> list[bool]:
        left = _missing(trajectory.task, facts)
        return [left <= limit for limit in limits]

    return met_by_turn(trajectory, criteria, met)


def _final(one: Trajectory, name: str) -> Any:
    return one.env["state"]["ArenaGame"][name]


class _ArenaEnv(AsyncEnvWrapper):
    """Conversation with tools until the game is over."""

    def __init__(self, task: Task, tools: Sequence[Any], game: ArenaGame):
        super().__init__(tool_chat([lambda: game, *tools])(task))
        self._game = game

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        return reply._replace(done=reply.done or self._game.is_over, facts=self._game.facts())
