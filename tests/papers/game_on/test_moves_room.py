import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("minigrid")

from handaxe.core.images import Image  # noqa: E402
from handaxe.core.records import ToolCall  # noqa: E402
from handaxe.papers.game_on.moves_room import (  # noqa: E402
    FLOORS,
    ROOM_SIDE,
    Room,
    RoomStart,
    agent_cell,
    frame,
    parse_cell,
    spell_cell,
)

FLOOR_CELLS = ((0, 0), (3, 3), (1, 3), (2, 0))


def starts():
    for x in range(ROOM_SIDE):
        for y in range(ROOM_SIDE):
            if (x, y) not in FLOOR_CELLS:
                for facing in range(4):
                    yield RoomStart((x, y), facing, FLOOR_CELLS)


def test_the_agent_is_found_in_every_frame():
    shown = set()
    for start in starts():
        image = frame(start)
        assert (image.width, image.height) == (32, 32) and agent_cell(image) == start.agent
        shown.add(image.digest)
    assert len(shown) == 4 * (ROOM_SIDE * ROOM_SIDE - len(FLOORS)), "every start has a frame of its own"


def test_agent_cell_equals_a_slow_loop():
    start = RoomStart((2, 1), 3, FLOOR_CELLS)
    pixels = frame(start).pixels.astype(int)
    counts = {}
    for y in range(32):
        for x in range(32):
            red, green, blue = pixels[y, x]
            if red >= 150 and 2 * max(green, blue) < red:
                counts[(x // 8, y // 8)] = counts.get((x // 8, y // 8), 0) + 1
    assert max(counts, key=counts.get) == (2, 1)
    assert agent_cell(Image.of(np.zeros((32, 32, 3), np.uint8))) is None


def test_go_walks_with_actions_of_minigrid_and_shows_the_frame():
    room = Room(RoomStart((1, 2), 0, FLOOR_CELLS))
    call = room.go.run(ToolCall("go", {"cell": "2 2"}))
    assert call.status == "ok" and agent_cell(call.images[0]) == (1, 1) == room.agent
    assert room.report() == {"at": [1, 1], "steps": 2, "goes": 1}, "a turn to the left and a step"
    room.go.run(ToolCall("go", {"cell": "6 6"}))
    assert room.agent == (3, 3) and room.report()["steps"] == 2 + 1 + 2 + 1 + 2


@pytest.mark.parametrize("text", ["1 2", "8 0", "0", "0 0 0", "", "a b", "-2 0"])
def test_an_unknown_cell_is_rejected(text):
    room = Room(RoomStart((1, 2), 0, FLOOR_CELLS))
    assert parse_cell(text) is None
    assert room.go.run(ToolCall("go", {"cell": text})).status == "retry" and room.report()["goes"] == 0


def test_cells_are_spelled_in_units_of_half_a_cell():
    assert spell_cell((1, 2)) == "2 4" and parse_cell("2 4") == (1, 2)


def test_a_snapshot_puts_the_agent_back():
    room = Room(RoomStart((1, 2), 0, FLOOR_CELLS))
    state, before = room.snapshot(), room.frame()
    room.go.run(ToolCall("go", {"cell": "6 0"}))
    assert room.frame() != before
    room.restore(state)
    assert room.frame() == before and room.report() == {"at": [1, 2], "steps": 0, "goes": 0}


def test_a_missing_minigrid_is_named_with_its_extra():
    code = """
import sys
sys.modules["minigrid"] = None
from handaxe.core.errors import InputError
from handaxe.papers.game_on.grid_moves import grid_moves
try:
    grid_moves().tasks("train", 1, 0)
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("rooms need minigrid") and 'pip install "handaxe[grid]"' in said and said.count("\n") == 1
