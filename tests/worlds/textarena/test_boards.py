import itertools
import random

import pytest

from handaxe.worlds.textarena.boards import (
    FROZEN_LAKE,
    LIGHTS_OUT,
    PEG_JUMP,
    TOWER_OF_HANOI,
    breadth_first,
    fewest_presses,
)


def test_breadth_first_search_returns_a_shortest_path_or_none():
    def moves(number):
        yield "+1", (number + 1) % 20
        yield "*2", number * 2 % 20

    assert breadth_first(1, moves, lambda number: number == 11) == ("+1", "*2", "+1", "*2", "+1")
    assert breadth_first(1, moves, lambda number: number == 1) == ()
    assert breadth_first(1, moves, lambda number: number == 99) is None


def test_a_lake_is_crossed_around_the_holes():
    state = {"rows": ["....", ".HH.", "...H", "H..G"], "at": [0, 0]}
    assert FROZEN_LAKE.plan(state, None) in (
        ("down", "down", "right", "down", "right", "right"),
        ("down", "down", "right", "right", "down", "right"),
    )
    assert FROZEN_LAKE.brief(state) == "lake P.../.HH./...H/H..G"
    assert FROZEN_LAKE.plan({"rows": [".H", "HG"], "at": [0, 0]}, None) is None


@pytest.mark.parametrize("discs", [1, 3, 5])
def test_a_whole_tower_takes_all_powers_of_two(discs):
    state = {"towers": {"A": list(range(discs, 0, -1)), "B": [], "C": []}}
    assert len(TOWER_OF_HANOI.plan(state, None)) == 2**discs - 1


def test_a_solved_tower_needs_no_action():
    assert TOWER_OF_HANOI.plan({"towers": {"A": [], "B": [], "C": [3, 2, 1]}}, None) == ()
    assert TOWER_OF_HANOI.plan({"towers": {"A": [], "B": [1], "C": [3, 2]}}, None) == ("B C",)


def test_pegs_are_jumped_or_the_board_is_lost():
    jumps = [[1, 2, 4], [4, 2, 1]]
    assert PEG_JUMP.plan({"pegs": "oo.." + "." * 11, "jumps": jumps}, None) == ("1 4",)
    assert PEG_JUMP.plan({"pegs": "o..o" + "." * 11, "jumps": jumps}, None) is None


def press(lights, cells, size):
    for cell in cells:
        row, column = divmod(cell, size)
        for r, c in ((row, column), (row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < size and 0 <= c < size:
                lights ^= 1 << (r * size + c)
    return lights


@pytest.mark.parametrize("size", [2, 3])
def test_fewest_presses_equal_exhaustive_search(size):
    best = {}
    for count in range(size * size + 1):
        for cells in itertools.combinations(range(size * size), count):
            best.setdefault(press(0, cells, size), count)
    for lights in range(2 ** (size * size)):
        found = fewest_presses(lights, size)
        assert (found is None) == (lights not in best)
        assert found is None or (len(found) == best[lights] and press(lights, found, size) == 0)


def test_presses_of_a_large_square_turn_all_lights_off():
    rng = random.Random(0)
    for _ in range(20):
        cells = rng.sample(range(25), 9)
        lights = press(0, cells, 5)
        found = fewest_presses(lights, 5)
        assert press(lights, found, 5) == 0 and len(found) <= 9
    assert fewest_presses(1, 5) is None


def test_presses_are_written_as_row_and_column():
    assert LIGHTS_OUT.plan({"rows": [".....", "..O..", ".OOO.", "..O..", "....."]}, None) == ("2 2",)
