"""Puzzles: RushHour by breadth-first search, Countdown by deepening search, Sudoku by backtracking."""

from __future__ import annotations

import functools
import itertools
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from handaxe.worlds.textarena.boards import breadth_first
from handaxe.worlds.textarena.family import Family, Plan, State

__all__ = ["COUNTDOWN", "RUSH_HOUR", "SUDOKU", "fewest_operations"]

SIDE = 6
"""Side of RushHour's board."""
EXIT_ROW = 2
SMALLEST, LARGEST = 100, 999
"""Range of Countdown's target."""
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
}
DIGITS = "123456789"

Car = tuple[str, int, int, int, bool]
"""Letter, row, column, length, and whether the car is horizontal."""


def _cars(vehicles: Mapping[str, Any]) -> tuple[Car, ...]:
    return tuple((one.vid, one.row, one.col, one.length, one.horizontal) for one in vehicles.values())


def _cars_text(state: State) -> str:
    rows = [["."] * SIDE for _ in range(SIDE)]
    for letter, row, column, length, horizontal in state["cars"]:
        for n in range(length):
            rows[row + n * (not horizontal)][column + n * horizontal] = letter
    return "/".join(map("".join, rows))


@functools.lru_cache(maxsize=20_000)
def _drive_out(cars: tuple[Car, ...]) -> Plan:
    """Shortest path over the positions of the cars along their lines; occupied cells are a bit set."""
    red = next(n for n, car in enumerate(cars) if car[0] == "X")
    masks = [[_mask(car, place) for place in range(SIDE - car[3] + 1)] for car in cars]

    def moves(places: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
        taken = 0
        for mask, place in zip(masks, places):
            taken |= mask[place]
        for n, place in enumerate(places):
            rest = taken ^ masks[n][place]
            for sign, there in (("+", place + 1), ("-", place - 1)):
                if 0 <= there < len(masks[n]) and not rest & masks[n][there]:
                    yield cars[n][0] + sign, (*places[:n], there, *places[n + 1 :])

    start = tuple(column if horizontal else row for _, row, column, _, horizontal in cars)
    return breadth_first(start, moves, lambda places: places[red] == SIDE - cars[red][3])


def _mask(car: Car, place: int) -> int:
    _, row, column, length, horizontal = car
    cells = ((row, place + n) if horizontal else (place + n, column) for n in range(length))
    return sum(1 << (r * SIDE + c) for r, c in cells)


def _solve_cars(state: State, secret: Any) -> Plan:
    del secret
    return _drive_out(tuple((car[0], *car[1:]) for car in state["cars"]))


def _solvable(vehicles: Iterable[Any]) -> bool:
    """Test whether the red car can leave, in milliseconds; the package's own search takes up to seconds."""
    return _drive_out(tuple((one.vid, one.row, one.col, one.length, one.horizontal) for one in vehicles)) is not None


def _search_quickly(env: Any) -> None:
    env._is_solvable = _solvable


RUSH_HOUR = Family(
    read=lambda env: {"cars": [list(car) for car in _cars(env.state.game_state["vehicles"])]},
    brief=lambda state: f"X to the right. {_cars_text(state)}",
    reply=_cars_text,
    plan=_solve_cars,
    prepare=_search_quickly,
)


def _steps(numbers: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Operations on two of the numbers, without negative results and zero: action, and the numbers afterwards.

    The result is appended, as in the package.
    """
    for i, j in itertools.permutations(range(len(numbers)), 2):
        a, b = numbers[i], numbers[j]
        rest = tuple(one for n, one in enumerate(numbers) if n not in (i, j))
        for sign in "+*" if i < j else "":
            yield f"{i} {j} {sign}", (*rest, OPERATIONS[sign](a, b))
        if a > b:
            yield f"{i} {j} -", (*rest, a - b)
        if b > 1 and a % b == 0:
            yield f"{i} {j} /", (*rest, a // b)


@functools.lru_cache(maxsize=20_000)
def fewest_operations(numbers: tuple[int, ...], target: int) -> Plan:
    """Find the fewest operations whose last result is `target`, by deepening search; None if there are none.

    Example:
        fewest_operations((100, 75, 6), 181) == ("0 1 +", "0 1 +")
    """

    def search(held: tuple[int, ...], depth: int) -> Plan:
        for action, there in _steps(held):
            if depth == 1:
                if there[-1] == target:
                    return (action,)
            elif (rest := search(there, depth - 1)) is not None:
                return (action, *rest)
        return None

    found = (search(numbers, depth) for depth in range(1, len(numbers)))
    return next((one for one in found if one is not None), None)


def _draw_countdown(rng: random.Random) -> Mapping[str, Any]:
    """Numbers as in the package's own draw, and a target that one to four operations reach."""
    numbers = rng.sample([25, 50, 75, 100], 2) + rng.sample([*range(1, 11)] * 2, 4)
    while True:
        held = tuple(numbers)
        for _ in range(rng.randint(1, 4)):
            _, held = rng.choice(list(_steps(held)))
        if SMALLEST <= held[-1] <= LARGEST and held[-1] not in numbers:
            return {"numbers": numbers, "target": held[-1]}


def _solve_countdown(state: State, secret: Any) -> Plan:
    del secret
    return () if state["won"] else fewest_operations(tuple(state["numbers"]), state["target"])


def _countdown_text(state: State) -> str:
    return f"{state['target']} from {' '.join(map(str, state['numbers']))}"


COUNTDOWN = Family(
    read=lambda env: {"numbers": list(env.numbers), "target": env.target, "won": env.best_value == env.target},
    brief=_countdown_text,
    plan=_solve_countdown,
    arguments=_draw_countdown,
)


def _read_sudoku(env: Any) -> State:
    return {"rows": ["".join(map(str, row)).replace("0", ".") for row in env.state.game_state["board"]]}


@functools.lru_cache(maxsize=20_000)
def _fill(cells: str) -> str | None:
    """Fill 81 cells by backtracking, first the cell with the fewest possible digits."""
    best: tuple[int, list[str]] | None = None
    for n, cell in enumerate(cells):
        if cell == ".":
            possible = [digit for digit in DIGITS if digit not in {cells[m] for m in _peers(n)}]
            if best is None or len(possible) < len(best[1]):
                best = n, possible
    if best is None:
        return cells
    where, possible = best
    solved = (_fill(f"{cells[:where]}{digit}{cells[where + 1 :]}") for digit in possible)
    return next((one for one in solved if one is not None), None)


@functools.cache
def _peers(cell: int) -> tuple[int, ...]:
    """Cells of the same row, column or box."""
    row, column = divmod(cell, 9)

    def near(other: int) -> bool:
        r, c = divmod(other, 9)
        return other != cell and (r == row or c == column or (r // 3, c // 3) == (row // 3, column // 3))

    return tuple(filter(near, range(81)))


def _solve_sudoku(state: State, secret: Any) -> Plan:
    del secret
    cells = "".join(state["rows"])
    solved = _fill(cells)
    if solved is None:
        return None
    return tuple(f"{n // 9 + 1} {n % 9 + 1} {solved[n]}" for n, cell in enumerate(cells) if cell == ".")


def _missing(state: State) -> str:
    return f"{sum(row.count('.') for row in state['rows'])} missing"


SUDOKU = Family(
    read=_read_sudoku,
    brief=lambda state: f"sudoku {'/'.join(state['rows'])}",
    reply=_missing,
    plan=_solve_sudoku,
)
