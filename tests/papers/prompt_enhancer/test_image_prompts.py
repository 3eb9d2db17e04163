from collections import Counter

from handaxe.papers.prompt_enhancer.image_prompts import draw_prompt
from handaxe.worlds.canvas.drawing import CELLS, SHAPES, Item


def test_the_generator_obeys_places():
    assert draw_prompt("red disc 0 0; blue ring 4 2", seed=3) == (Item("red", "disc", 0, 0), Item("blue", "ring", 4, 2))
    assert draw_prompt("red disc 0 0, green ring 0 0", seed=3) == (Item("green", "ring", 0, 0),)


def test_the_generator_ignores_counts_and_draws_what_is_negated():
    for seed in range(20):
        (one,) = draw_prompt("3 red discs", seed=seed)
        assert (one.colour, one.shape) == ("red", "disc")
        first, second = draw_prompt("red disc without blue", seed=seed)
        assert (first.colour, first.shape, second.colour) == ("red", "disc", "blue") and second.shape in SHAPES


def test_relations_hold_by_chance():
    held = Counter(a.left < b.left for a, b in (draw_prompt("red disc left of blue ring", seed=n) for n in range(400)))
    # of the 240 ordered pairs of different places, 96 have the first to the left: 0.4, with 4 standard errors of 0.0245
    assert abs(held[True] / 400 - 96 / 240) < 0.098


def test_invalid_places_and_unknown_words_are_read_as_words():
    (one,) = draw_prompt("red disc 1 9", seed=0)
    assert one[:2] == ("red", "disc") and one[2:] in CELLS
    assert draw_prompt("a house by the sea | 5", seed=0) == () == draw_prompt("", seed=0)


def test_long_prompts_are_bounded_and_equal_seeds_give_equal_drawings():
    assert len(draw_prompt("red disc; " * 5000, seed=1)) == 16
    assert draw_prompt("red; blue", seed=1) == draw_prompt("red; blue", seed=1)
    assert len({draw_prompt("red; blue", seed=seed) for seed in range(9)}) > 1
