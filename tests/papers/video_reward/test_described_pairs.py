import numpy as np
import pytest

from handaxe.papers.video_reward.attribute_reward import AttributeReward
from handaxe.papers.video_reward.described_pairs import described_pairs
from handaxe.worlds.canvas.edit_features import EDIT_SIZE, PICTURE_SIZE, REQUEST_SIZE
from handaxe.worlds.canvas.edits import edited_pairs

pytest.importorskip("PIL")


def test_sides_and_qualities_are_those_of_the_edits():
    made = described_pairs(3, seed=1)
    assert made.input_P2F.shape == (3, 2, EDIT_SIZE)
    expected = [[one.qualities for one in pair] for pair in edited_pairs(3, seed=1)]
    np.testing.assert_array_equal(made.quality_P2A, expected)


def test_margins_are_differences_of_the_scores_of_both_sides():
    made = described_pairs(3, seed=1)
    model = AttributeReward(PICTURE_SIZE, REQUEST_SIZE, needs=(True, False, False))
    first, second = (model.scores(made.input_P2F[:, side]) for side in (0, 1))
    np.testing.assert_allclose(made.margins(model), first - second, atol=1e-9)
