import random

import pytest

from handaxe.worlds.textarena.puzzles import COUNTDOWN, RUSH_HOUR, SUDOKU, fewest_operations

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__}


def cars(*rows):
    """State of a drawn board."""
    found = {}
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            if letter != ".":
                found.setdefault(letter, []).append((r, c))
    return {
        "cars": [[letter, *cells[0], len(cells), cells[0][0] == cells[1][0]] for letter, cells in sorted(found.items())]
    }


def test_the_red_car_drives_out_past_a_truck():
    state = cars("...B..", "...B..", ".XXB..", "......", "......", "......")
    assert RUSH_HOUR.plan(state, None) == ("B+", "B+", "B+", "X+", "X+", "X+")
    assert RUSH_HOUR.brief(state) == "X to the right. ...B../...B../.XXB../....../....../......"


def test_a_blocked_red_car_has_no_plan():
    column = ["...B..", "...B..", ".XXB..", "...C..", "...C..", "...C.."]
    assert RUSH_HOUR.plan(cars(*column), None) is None


def calculate(numbers, plan):
    """Numbers after the actions, as in the package: the result is appended."""
    held = list(numbers)
    for action in plan:
        i, j, sign = action.split()
        result = OPERATIONS[sign](held[int(i)], held[int(j)])
        held = [one for n, one in enumerate(held) if n not in (int(i), int(j))] + [result]
    return held


def test_operations_reach_the_target_in_fewest_steps():
    assert fewest_operations((100, 75, 6), 175) == ("0 1 +",)
    assert fewest_operations((100, 75, 6), 75 * 100 * 6) == ("0 1 *", "0 1 *")
    assert fewest_operations((100, 75), 26) is None
    assert fewest_operations((12, 4), 3) == ("0 1 /",) and fewest_operations((4, 12), 8) == ("1 0 -",)


def test_drawn_targets_are_reached_in_four_operations_or_fewer():
    lengths = set()
    for seed in range(12):
        drawn = COUNTDOWN.arguments(random.Random(seed))
        plan = fewest_operations(tuple(drawn["numbers"]), drawn["target"])
        assert calculate(drawn["numbers"], plan)[-1] == drawn["target"] and 100 <= drawn["target"] <= 999
        lengths.add(len(plan))
    assert len(lengths) > 1 and max(lengths) <= 4


GRID = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


@pytest.mark.parametrize("missing", [(0,), (0, 4, 8, 40, 80), tuple(range(0, 81, 4))])
def test_missing_digits_are_filled_by_row(missing):
    cells = "".join("." if n in missing else digit for n, digit in enumerate(GRID))
    plan = SUDOKU.plan({"rows": [cells[n : n + 9] for n in range(0, 81, 9)]}, None)
    assert plan == tuple(f"{n // 9 + 1} {n % 9 + 1} {GRID[n]}" for n in missing)


def test_a_contradictory_grid_has_no_plan():
    assert SUDOKU.plan({"rows": [".12345678", "9........", *["........."] * 7]}, None) is None
