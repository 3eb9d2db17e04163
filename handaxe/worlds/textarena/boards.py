"""Games on boards: FrozenLake, TowerOfHanoi and PegJump by search, LightsOut by linear algebra."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from handaxe.worlds.textarena.family import Family, Plan, State

__all__ = ["FROZEN_LAKE", "LIGHTS_OUT", "PEG_JUMP", "TOWER_OF_HANOI", "breadth_first", "fewest_presses"]

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
TOWERS = "ABC"
MOST_JUMPS = 12
"""Largest number of jumps before the start of a drawn PegJump, of 13 in a whole game."""


def breadth_first(
    start: Any, moves: Callable[[Any], Iterable[tuple[str, Hashable]]], ended: Callable[[Any], bool]
) -> Plan:
    """Find the actions of a shortest path by breadth-first search; None without a path."""
    came: dict[Any, tuple[Any, str] | None] = {start: None}
    layer = [start]
    while layer:
        following = []
        for here in layer:
            if ended(here):
                actions = []
                while (step := came[here]) is not None:
                    here, action = step
                    actions.append(action)
                return tuple(reversed(actions))
            for action, there in moves(here):
                if there not in came:
                    came[there] = here, action
                    following.append(there)
        layer = following
    return None


def _read_lake(env: Any) -> State:
    state = env.state.game_state
    rows = ["".join("." if cell == " " else cell for cell in row) for row in state["grid"]]
    return {"rows": rows, "at": list(state["player_pos"])}


def _lake_text(state: State) -> str:
    rows = [list(row) for row in state["rows"]]
    rows[state["at"][0]][state["at"][1]] = "P"
    return "/".join(map("".join, rows))


def _cross_lake(state: State, secret: Any) -> Plan:
    del secret
    rows = state["rows"]

    def moves(at: tuple[int, int]) -> Iterable[tuple[str, tuple[int, int]]]:
        for word, (down, right) in STEPS.items():
            row, column = at[0] + down, at[1] + right
            if 0 <= row < len(rows) and 0 <= column < len(rows) and rows[row][column] != "H":
                yield word, (row, column)

    return breadth_first(tuple(state["at"]), moves, lambda at: rows[at[0]][at[1]] == "G")


FROZEN_LAKE = Family(
    read=_read_lake, brief=lambda state: f"lake {_lake_text(state)}", reply=_lake_text, plan=_cross_lake
)


def _read_towers(env: Any) -> State:
    return {"towers": {name: list(discs) for name, discs in env.state.game_state["towers"].items()}}


def _towers_text(state: State) -> str:
    return " ".join(name + "".join(map(str, state["towers"][name])) for name in TOWERS)


@functools.cache
def _moves_to_c(discs: int) -> Mapping[tuple[int, ...], tuple[str, tuple[int, ...]]]:
    """First move of a shortest path to tower C and its result, by breadth-first search from the end.

    A state is the tower of each disc, smallest disc first; moves can be reversed.
    """
    end = (2,) * discs
    found: dict[tuple[int, ...], tuple[str, tuple[int, ...]]] = {end: ("", end)}
    layer = [end]
    while layer:
        following = []
        for here in layer:
            for disc, tower in enumerate(here):
                if tower in here[:disc]:
                    continue
                for source in range(len(TOWERS)):
                    there = (*here[:disc], source, *here[disc + 1 :])
                    if source not in here[:disc] and there not in found:
                        found[there] = f"{TOWERS[source]} {TOWERS[tower]}", here
                        following.append(there)
        layer = following
    return found


def _solve_towers(state: State, secret: Any) -> Plan:
    del secret
    places = {disc: TOWERS.index(name) for name, discs in state["towers"].items() for disc in discs}
    here, actions = tuple(places[disc] for disc in sorted(places)), list[str]()
    moves = _moves_to_c(len(here))
    while set(here) != {2}:
        action, here = moves[here]
        actions.append(action)
    return tuple(actions)


def _draw_towers(env: Any, rng: random.Random) -> None:
    """Put every disc on a drawn tower; the package starts with all discs on A."""
    towers: dict[str, list[int]] = {name: [] for name in TOWERS}
    for disc in range(env.num_disks, 0, -1):
        towers[rng.choice(TOWERS)].append(disc)
    env.state.game_state["towers"].update(towers)
    sender, _, kind = env.state.observations[0][-1]
    env.state.observations[0].append((sender, f"Current Board: \n{env._render_board()}", kind))


TOWER_OF_HANOI = Family(
    read=_read_towers,
    brief=lambda state: f"discs to C. {_towers_text(state)}",
    reply=_towers_text,
    plan=_solve_towers,
    change=_draw_towers,
)


def _read_pegs(env: Any) -> State:
    return {
        "pegs": "".join(".o"[peg] for peg in env.state.game_state["board"][1:]),
        "jumps": [list(one) for one in env.ALLOWED_MOVES],
    }


@functools.lru_cache(maxsize=1 << 16)
def _jump(pegs: str, jumps: tuple[tuple[int, int, int], ...]) -> Plan:
    """Jumps that leave one peg, depth first; holes are numbered from 1."""
    if pegs.count("o") == 1:
        return ()
    for start, over, end in jumps:
        if pegs[start - 1] == pegs[over - 1] == "o" and pegs[end - 1] == ".":
            rest = _jump(_jumped(pegs, (start, over, end)), jumps)
            if rest is not None:
                return (f"{start} {end}", *rest)
    return None


def _jumped(pegs: str, jump: tuple[int, int, int]) -> str:
    start, over, end = jump
    changed = list(pegs)
    changed[start - 1] = changed[over - 1] = "."
    changed[end - 1] = "o"
    return "".join(changed)


def _solve_pegs(state: State, secret: Any) -> Plan:
    del secret
    return _jump(state["pegs"], tuple(tuple(one) for one in state["jumps"]))


def _draw_jumps(env: Any, rng: random.Random) -> None:
    """Play a drawn number of jumps that keep the game solvable."""
    jumps = tuple(tuple(one) for one in env.ALLOWED_MOVES)
    pegs = _read_pegs(env)["pegs"]
    for _ in range(rng.randint(0, MOST_JUMPS)):
        options = [_jumped(pegs, one) for one in jumps if _can_jump(pegs, one)]
        options = [one for one in options if _jump(one, jumps) is not None and one.count("o") > 1]
        if not options:
            break
        pegs = rng.choice(options)
    env.state.game_state["board"][1:] = [peg == "o" for peg in pegs]
    env._observe_state()


def _can_jump(pegs: str, jump: tuple[int, int, int]) -> bool:
    start, over, end = jump
    return pegs[start - 1] == pegs[over - 1] == "o" and pegs[end - 1] == "."


PEG_JUMP = Family(
    read=_read_pegs,
    brief=lambda state: f"pegs {state['pegs']}",
    reply=lambda state: state["pegs"],
    plan=_solve_pegs,
    arguments=lambda rng: {"initial_empty": rng.randint(1, 15)},
    change=_draw_jumps,
)


def _read_lights(env: Any) -> State:
    return {"rows": ["".join(".O"[light] for light in row) for row in env.state.game_state["grid"]]}


@functools.lru_cache(maxsize=8)
def _elimination(size: int) -> tuple[Mapping[int, tuple[int, int]], tuple[int, ...]]:
    """Eliminate the presses of a square of lights over GF(2).

    Returns:
        pivot bit -> (lights, presses) of an equation, and the presses that change no light. Numbers are bit sets.
    """
    rows: dict[int, tuple[int, int]] = {}
    quiet = []
    for cell in range(size * size):
        row, column = divmod(cell, size)
        near = [(row, column), *((row + down, column + right) for down, right in STEPS.values())]
        lights = sum(1 << (r * size + c) for r, c in near if 0 <= r < size and 0 <= c < size)
        presses = 1 << cell
        while lights:
            pivot = lights.bit_length() - 1
            if pivot not in rows:
                rows[pivot] = lights, presses
                break
            lights, presses = lights ^ rows[pivot][0], presses ^ rows[pivot][1]
        else:
            quiet.append(presses)
    return rows, tuple(quiet)


def fewest_presses(lights: int, size: int) -> tuple[int, ...] | None:
    """Find the fewest presses that turn all lights off, by elimination over GF(2).

    Args:
        lights: bit set of lights that are on, row by row.
        size: side of the square.

    Returns:
        cells in order; None if no set of presses turns the lights off.
    """
    rows, quiet = _elimination(size)
    presses = 0
    while lights:
        pivot = lights.bit_length() - 1
        if pivot not in rows:
            return None
        lights, presses = lights ^ rows[pivot][0], presses ^ rows[pivot][1]
    options = [presses]
    for one in quiet:
        options += [other ^ one for other in options]
    best = min(options, key=lambda one: (one.bit_count(), one))
    return tuple(cell for cell in range(size * size) if best >> cell & 1)


def _solve_lights(state: State, secret: Any) -> Plan:
    del secret
    size = len(state["rows"])
    lights = sum(1 << n for n, light in enumerate(itertools.chain(*state["rows"])) if light == "O")
    cells = fewest_presses(lights, size)
    return None if cells is None else tuple(f"{cell // size} {cell % size}" for cell in cells)


LIGHTS_OUT = Family(
    read=_read_lights,
    brief=lambda state: f"lights off. {'/'.join(state['rows'])}",
    reply=lambda state: "/".join(state["rows"]),
    plan=_solve_lights,
)
