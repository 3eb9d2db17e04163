import random

import numpy as np
import pytest

from handaxe.core.errors import InputError, Retry
from handaxe.worlds.canvas.drawing import CELLS, COLOURS, SHAPES, SIDE, Item, draw_program, paint_items, parse_program

pytest.importorskip("PIL")

BAD = [
    ("", "0 statements"),
    (" ; ;\n", "0 statements"),
    ("red 2 4;" * 17, "17 statements"),
    ("red 2 4 " * 60, "480 characters"),
    ("import os", "no statement"),
    ("__import__('os').system('x')", "no statement"),
    ("pink 2 4", "no statement"),
    ("red star 2 4", "no statement"),
    ("red disc 2", "has the place disc 2"),
    ("red disc 7 4", "two numbers from 0 to 6"),
    ("red disc -1 4", "two numbers from 0 to 6"),
    ("red disc \u0661 4", "two numbers from 0 to 6"),
    ("clear 10 4", "two numbers from 0 to 6"),
    ("dye 2 4 pink", "no statement"),
    ("dye 2 4 blue", "no object at 2 4"),
    ("red 2 4; move 3 4 0 0", "no object at 3 4"),
]


def test_draw_matches_its_example():
    assert draw_program("red disc 2 4; dye 2 4 blue", ()) == (Item("blue", "disc", 2, 4),)
    assert draw_program("red 2 4\nblue ring 0 0", ()) == (Item("red", "square", 2, 4), Item("blue", "ring", 0, 0))


@pytest.mark.parametrize("program, message", BAD)
def test_invalid_programs_ask_for_another(program, message):
    with pytest.raises(Retry, match=message):
        draw_program(program, ())


def test_a_new_or_moved_object_removes_those_that_it_overlaps():
    items = draw_program("red 0 0; blue 2 0; green 4 4", ())
    assert draw_program("cyan 1 1", items) == (Item("green", "square", 4, 4), Item("cyan", "square", 1, 1))
    assert draw_program("move 4 4 2 0", items) == (Item("red", "square", 0, 0), Item("green", "square", 2, 0))
    assert draw_program("move 0 0 1 0", items[:1]) == (Item("red", "square", 1, 0),)
    assert draw_program("clear 1 0", items) == items[2:] and draw_program("clear 6 6", items) == items


def test_colour_statements_name_their_place():
    statements = parse_program("red 2 4; dye 2 4 blue; clear 0 0; move 2 4 0 0")
    assert [one.painted for one in statements] == [(2, 4), (2, 4), None, None]
    assert [one.draws for one in statements] == [True, False, False, False]


def random_program(rng):
    place = "{} {}".format(*rng.choice(CELLS))
    kinds = [
        f"{rng.choice(list(COLOURS))} {rng.choice(SHAPES)} {place}",
        f"clear {place}",
        f"dye {place} {rng.choice(list(COLOURS))}",
    ]
    return rng.choice(kinds)


def test_draw_equals_a_slow_board_of_cells():
    """On even places the drawing is a board of 16 cells."""
    rng = random.Random(0)
    for _ in range(60):
        items, board = (), {}
        for _ in range(12):
            program = random_program(rng)
            words = program.split()
            place = (int(words[-2]), int(words[-1])) if words[0] != "dye" else (int(words[1]), int(words[2]))
            if words[0] == "dye" and place not in board:
                continue
            items = draw_program(program, items)
            if words[0] == "clear":
                board.pop(place, None)
            elif words[0] == "dye":
                board[place] = (words[3], board[place][1])
            else:
                board[place] = (words[0], words[1])
        assert {(one.left, one.top): (one.colour, one.shape) for one in items} == board


def test_squares_fill_their_pixels_and_nothing_else():
    pixels = paint_items(draw_program("red 2 4", ()), 32).pixels
    assert pixels.shape == (32, 32, 3)
    assert (pixels[16:24, 8:16] == COLOURS["red"]).all()
    outside = np.ones((32, 32), bool)
    outside[16:24, 8:16] = False
    assert (pixels[outside] == 245).all()


@pytest.mark.parametrize("shown", [32, 64, 128, 256])
def test_shapes_differ_and_a_small_image_is_the_mean_of_blocks(shown):
    images = [paint_items((Item("blue", shape, 2, 2),), shown) for shape in SHAPES]
    assert len({image.digest for image in images}) == len(SHAPES)
    fine = paint_items((Item("blue", "ring", 2, 2),), 256).pixels.astype(float)
    block = 256 // shown
    for y in range(0, shown, 5):
        for x in range(0, shown, 5):
            mean = fine[block * y : block * (y + 1), block * x : block * (x + 1)].mean((0, 1))
            assert np.abs(images[3].pixels[y, x] - mean).max() <= 0.5
    with pytest.raises(InputError, match="give 32, 64, 128 or 256"):
        paint_items((), 33)


def test_a_program_has_a_bounded_drawing():
    items = ()
    for x in range(SIDE - 1):
        for y in range(SIDE - 1):
            items = draw_program(f"red {x} {y}", items)
    assert len(items) <= len(CELLS)
