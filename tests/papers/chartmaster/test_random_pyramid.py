import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.chartmaster.random_pyramid import random_pyramid


def image(seed=0, shape=(24, 32, 3)):
    return np.random.default_rng(seed).random(shape)


def test_stages_halve_the_image():
    assert [one.shape for one in random_pyramid()(image())] == [(12, 16, 8), (6, 8, 8), (3, 4, 8)]
    assert [one.shape for one in random_pyramid(stages=1, channels=2)(image(shape=(9, 11, 1)))] == [(4, 5, 2)]


def test_the_first_stage_matches_a_slow_loop():
    picture = image(shape=(8, 8, 2))
    (found,) = random_pyramid(stages=1, channels=3, seed=5)(picture)
    drawn = generator("random_pyramid", 5, 0, 2).standard_normal((18, 3)) / np.sqrt(18)
    slow = np.zeros((8, 8, 3))
    for y, x, k, dy, dx, c in np.ndindex(8, 8, 3, 3, 3, 2):
        row, column = y + dy - 1, x + dx - 1
        if 0 <= row < 8 and 0 <= column < 8:
            slow[y, x, k] += picture[row, column, c] * drawn[(dy * 3 + dx) * 2 + c, k]
    slow = np.maximum(slow, 0)
    for y, x in np.ndindex(4, 4):
        assert found[y, x] == pytest.approx(slow[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].mean(axis=(0, 1)))


def test_equal_seeds_draw_equal_filters_and_zeros_stay_zeros():
    one, same, other = (random_pyramid(seed=seed)(image()) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(one, same)) and not (one[0] == other[0]).all()
    assert not any(stage.any() for stage in random_pyramid()(np.zeros((24, 32, 3))))


def test_random_pyramid_rejects_invalid_arguments():
    for knobs in ({"stages": 0}, {"stages": 4}, {"channels": 0}):
        with pytest.raises(InputError, match="stages are 1 to 3"):
            random_pyramid(**knobs)
    for shape in ((24, 32), (7, 32, 3)):
        with pytest.raises(InputError, match="an image is"):
            random_pyramid()(image(shape=shape))
