"""Guessing games: GuessTheNumber by bisection, Mastermind by guesses consistent with all replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handaxe.worlds.textarena.family import Family, Plan, State

__all__ = ["GUESS_THE_NUMBER", "MASTERMIND", "first_consistent", "pegs"]


def _read_number(env: Any) -> State:
    guesses = [[int(guess), str(hint)] for guess, hint in env.state.game_state["guess_history"]]
    return {"low": env.min_number, "high": env.max_number, "guesses": guesses}


def _bisect(state: State, secret: Any) -> Plan:
    """Guess the middle of the possible numbers until `secret`."""
    low, high = state["low"], state["high"]
    for guess, hint in state["guesses"]:
        low, high = (max(low, guess + 1), high) if hint == "higher" else (low, min(high, guess - 1))
    actions = []
    while True:
        middle = (low + high) // 2
        actions.append(str(middle))
        if secret is None or middle == secret:
            return tuple(actions)
        low, high = (middle + 1, high) if secret > middle else (low, middle - 1)


GUESS_THE_NUMBER = Family(
    read=_read_number,
    brief=lambda state: f"guess {state['low']} to {state['high']}",
    reply=lambda state: state["guesses"][-1][1] if state["guesses"] else "",
    plan=_bisect,
    secret=lambda env: env.game_number,
)


def _read_code(env: Any) -> State:
    state = env.state.game_state
    history = [[list(one["guess"]), one["black"], one["white"]] for one in state["history"]]
    return {
        "length": state["code_length"],
        "digits": state["num_numbers"],
        "repeats": state["duplicate_numbers"],
        "history": history,
    }


def pegs(guess: Sequence[int], code: Sequence[int]) -> tuple[int, int]:
    """Count black pegs (equal digit, equal place) and white pegs (equal digit, another place).

    Example:
        pegs((1, 2, 3, 4), (1, 3, 5, 6)) == (1, 1)
    """
    black = sum(one == other for one, other in zip(guess, code))
    common = sum(min(list(guess).count(digit), list(code).count(digit)) for digit in set(guess))
    return black, common - black


def first_consistent(state: State) -> tuple[int, ...] | None:
    """Find the first code, in lexicographic order, that explains all replies; None if there is none.

    Depth-first over places; a prefix is dropped if its black pegs exceed a reply or cannot reach it any more.
    """
    length, history = state["length"], [(tuple(guess), black, white) for guess, black, white in state["history"]]

    def possible(prefix: tuple[int, ...]) -> bool:
        rest = length - len(prefix)
        for guess, black, white in history:
            so_far = sum(one == other for one, other in zip(prefix, guess))
            common = sum(min(prefix.count(digit), guess.count(digit)) for digit in set(prefix))
            if not so_far <= black <= so_far + rest or not common <= black + white <= common + rest:
                return False
        return True

    def extend(prefix: tuple[int, ...]) -> tuple[int, ...] | None:
        if len(prefix) == length:
            return prefix
        for digit in range(1, state["digits"] + 1):
            longer = (*prefix, digit)
            if (state["repeats"] or digit not in prefix) and possible(longer):
                found = extend(longer)
                if found is not None:
                    return found
        return None

    return extend(())


def _guess_codes(state: State, secret: Any) -> Plan:
    """Guess the first consistent code until `secret`."""
    actions, history = [], list(state["history"])
    while True:
        guess = first_consistent({**state, "history": history})
        if guess is None:
            return None
        actions.append(" ".join(map(str, guess)))
        if secret is None or list(guess) == list(secret):
            return tuple(actions)
        history.append([list(guess), *pegs(guess, secret)])


def _last_pegs(state: State) -> str:
    if not state["history"]:
        return ""
    _, black, white = state["history"][-1]
    return f"{black} black {white} white"


MASTERMIND = Family(
    read=_read_code,
    brief=lambda state: f"code of {state['length']} digits 1 to {state['digits']}",
    reply=_last_pegs,
    plan=_guess_codes,
    secret=lambda env: list(env.state.game_state["secret_code"]),
)
