"""Running game of textarena with the tool that plays it."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import random
from collections.abc import Mapping
from typing import Annotated, Any

from handaxe.core.errors import Failed, InfrastructureError, Retry
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import tool
from handaxe.worlds.textarena.boards import FROZEN_LAKE, LIGHTS_OUT, PEG_JUMP, TOWER_OF_HANOI
from handaxe.worlds.textarena.family import Family, Plan, State
from handaxe.worlds.textarena.games import game_class, game_family, use_generator
from handaxe.worlds.textarena.guessing import GUESS_THE_NUMBER, MASTERMIND
from handaxe.worlds.textarena.puzzles import COUNTDOWN, RUSH_HOUR, SUDOKU

__all__ = ["ArenaGame", "FAMILIES", "find_plan"]

FAMILIES: Mapping[str, Family] = {
    "2048": Family(chance=True),
    "Bandit": Family(chance=True),
    "Blackjack": Family(chance=True),
    "Countdown": COUNTDOWN,
    "Crosswords": Family(),
    "FrozenLake": FROZEN_LAKE,
    "GuessTheNumber": GUESS_THE_NUMBER,
    "LightsOut": LIGHTS_OUT,
    "LogicPuzzle": Family(),
    "Mastermind": MASTERMIND,
    "Minesweeper": Family(chance=True),
    "PegJump": PEG_JUMP,
    "RushHour": RUSH_HOUR,
    "Secretary": Family(chance=True),
    "Slitherlink": Family(),
    "Sokoban": Family(),
    "Sudoku": SUDOKU,
    "ThreeCardMonte": Family(),
    "TowerOfHanoi": TOWER_OF_HANOI,
}
"""Families of the world by name; those without a plan have no expert."""
LONGEST_ACTION = 60
"""Characters of an action."""


def find_plan(game: str, state: State, secret: Any = None) -> Plan:
    """Find the expert's actions from a state; see `Family.plan`."""
    return _find_plan(game_family(game), json.dumps(state, sort_keys=True), json.dumps(secret))


@functools.lru_cache(maxsize=50_000)
def _find_plan(family: str, state: str, secret: str) -> Plan:
    plan = FAMILIES[family].plan
    assert plan is not None, "only games with an expert are planned"
    return plan(json.loads(state), json.loads(secret))


class ArenaGame:
    """Running game with the tool `play`. A snapshot is a deep copy, with the game's own random generator.

    Args:
        game: registered name, such as FrozenLake-v0-random.
        number: of the instance; determines the start and all random results.
        brief: describe states in key words where the family has them, otherwise in the game's own text.

    Raises:
        InputError: textarena is not installed.
        InfrastructureError: the game does not start.
    """

    def __init__(self, game: str, number: int, *, brief: bool):
        self.game, self._family = game, FAMILIES[game_family(game)]
        self._brief = brief and self._family.brief is not None
        self._steps = self._accepted = 0
        self._rng = random.Random(derive_seed("textarena", game, number))
        arena, arguments = game_class(game)
        try:
            with use_generator(self._rng):
                self._env = arena(**{**arguments, **self._family.arguments(self._rng)})
                if self._family.prepare is not None:
                    self._family.prepare(self._env)
                self._env.reset(num_players=1, seed=derive_seed("textarena start", game, number) % 2**31)
                if self._family.change is not None:
                    self._family.change(self._env, self._rng)
        except Exception as error:
            raise InfrastructureError(f"{game} of textarena does not start: {error!r}") from error
        self.opening = self._opening()

    @tool(timeout=60.0, max_chars=4_000)
    def play(self, action: Annotated[str, "one action in the game's notation, such as: up, 2 3, A C"]) -> str:
        """Take an action in the game; the reply is the game's next state."""
        if self.is_over:
            raise Retry("the game is over")
        said = " ".join(action.strip().removeprefix("[").removesuffix("]").split())
        if not said or len(said) > LONGEST_ACTION or "[" in said or "]" in said:
            raise Retry(f"give one action of 1 to {LONGEST_ACTION} characters")
        self._steps += 1
        accepted = self._take(said)
        self._accepted += accepted
        text = self._reply(accepted)
        if not accepted:
            raise Failed(text)
        return text

    def _take(self, action: str) -> bool:
        """Take an action; False if the game rejects it."""
        try:
            with use_generator(self._rng):
                self._env.step(f"[{action}]")
        except Exception as error:
            raise InfrastructureError(f"{self.game} of textarena failed at action {action!r}: {error!r}") from error
        state = self._env.state
        return state.error_count == 0 and not state.game_info[0]["invalid_move"]

    def _reply(self, accepted: bool) -> str:
        if self._brief:
            if self.is_over:
                return "won" if self.is_won else "lost"
            return self._short(self._family.reply or self._family.brief) if accepted else "not possible"
        seen = self._unread()
        return "\n\n".join([*seen, self._reason(), "The game is over."] if self.is_over else seen)

    def _opening(self) -> str:
        if self._brief:
            return self._short(self._family.brief)
        seen = self._unread()
        if self._family.change is not None:
            seen = [seen[0], seen[-1]]  # the rules, and the board after the change
        return "\n\n".join(["You are playing a game by calling the tool.", *seen])

    def _short(self, text: Any) -> str:
        return str(text(self._family.read(self._env)))  # type: ignore[misc]

    def _unread(self) -> list[str]:
        """Texts of the game since the last call, without the player's own actions."""
        _, observations = self._env.get_observation()
        # Countdown swaps the arguments of an observation of its player.
        return [
            text.strip()
            for _, text, kind in observations
            if isinstance(text, str) and getattr(kind, "name", "PLAYER_ACTION") != "PLAYER_ACTION"
        ]

    def _reason(self) -> str:
        """The game's own explanation of the end; some games swap reason and reward."""
        found = [self._env.state.game_info[0].get("reason"), *(self._env.state.rewards or {}).values()]
        return next((one for one in found if isinstance(one, str)), "")

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self._env.state.done)

    @property
    def is_won(self) -> bool:
        """Whether the game gave its full reward."""
        return self.reward == 1.0

    @property
    def reward(self) -> float:
        """Reward of the game at its end, 0 before; 0 also if the game swaps reason and reward."""
        found = (self._env.state.rewards or {}).get(0, 0.0)
        return float(found) if isinstance(found, (int, float)) else 0.0

    def state(self) -> State | None:
        """Visible state; None for a family without an expert."""
        return None if self._family.read is None else self._family.read(self._env)

    def secret(self) -> Any:
        """Hidden part of the start, as JSON."""
        if self._family.secret is not None:
            return self._family.secret(self._env)
        return hashlib.sha256(repr(self._rng.getstate()).encode()).hexdigest() if self._family.chance else None

    def facts(self) -> dict[str, Any]:
        """Visible state, and whether the game is over or won, as JSON."""
        return {"state": self.state(), "over": self.is_over, "won": self.is_won}

    def report(self) -> Mapping[str, Any]:
        """The facts, the game's reward, and the numbers of actions and of accepted actions."""
        return {**self.facts(), "reward": self.reward, "steps": self._steps, "accepted": self._accepted}

    def snapshot(self) -> Any:
        """Deep copy of all mutable state."""
        return copy.deepcopy((self._env, self._rng, self._steps, self._accepted))

    def restore(self, state: Any) -> None:
        """Restore a snapshot and keep the snapshot usable."""
        self._env, self._rng, self._steps, self._accepted = copy.deepcopy(state)
