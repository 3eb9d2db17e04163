import numpy as np
import pytest

from handaxe.papers.social_reward.prompted_pictures import (
    PromptedPictures,
    prompted_pictures,
    triplets,
    worth_agreement,
)
from handaxe.worlds.canvas.drawing import COLOURS
from handaxe.worlds.canvas.edits import edit_requests

pytest.importorskip("PIL")
BY_HAND = PromptedPictures(np.array([1.0, 0.0]), np.array([[0.0], [1.0], [2.0]]), np.array([0.2, 0.6, 0.6]))


def test_prompts_name_the_colour_and_worth_has_the_steps_of_both_qualities():
    made = prompted_pictures(4, pictures=30, seed=2)
    for one, request in zip(made, edit_requests(4, seed=2, kinds=("add",)), strict=True):
        assert one.text_R.tolist() == [float(name == request.colour) for name in COLOURS]
    worth = {round(float(value), 9) for one in made for value in one.worth_P}
    assert worth == {round(fit + 0.1 * clean, 9) for fit in (0, 0.6) for clean in range(5)}


def test_the_requested_colour_is_in_pictures_of_full_worth():
    for one in prompted_pictures(4, pictures=60, seed=2):
        assert (one.picture_PF[one.worth_P > 0.99][:, 1:-1] @ one.text_R > 0).all()


def test_triplets_by_hand():
    found = triplets([BY_HAND, BY_HAND], [[(2, 0), (2, 1)], [(0, 1)]])
    assert found.text_NR.tolist() == [[1, 0]] * 3
    assert found.better_NF.tolist() == [[2], [2], [0]]
    assert found.worse_NF.tolist() == [[0], [1], [1]]


def test_agreement_leaves_out_pairs_of_equal_worth():
    assert worth_agreement([BY_HAND], [[(1, 0), (0, 2), (1, 2)]]) == 0.5
