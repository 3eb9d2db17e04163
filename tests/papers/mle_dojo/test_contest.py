import numpy as np
import pytest

pytest.importorskip("sklearn")

from handaxe.papers.mle_dojo.contest import contest
from handaxe.papers.mle_dojo.position_score import human_rank
from handaxe.worlds.parts.table_data import table_data
from handaxe.worlds.parts.table_pipelines import TableChoice, build_pipeline, zoo


@pytest.fixture(scope="module")
def own():
    return contest("diabetes", 0, 48)


def test_boards_hold_separate_fits(own):
    parts = table_data("diabetes", number=0, rows=48)
    choice = TableChoice("standard", model="tree")
    fitted = build_pipeline(choice, regression=True).fit(parts.train_X, parts.train_y)
    errors = [
        float(np.sqrt(np.mean((fitted.predict(X) - y) ** 2)))
        for X, y in ((parts.public_X, parts.public_y), (parts.private_X, parts.private_y))
    ]
    assert own.fitted[choice] == pytest.approx(errors, abs=1e-9)
    assert [board[zoo().index(choice)] for board in own.boards] == pytest.approx(errors, abs=1e-9)
    assert own.rank(choice) == pytest.approx(human_rank(errors, own.boards, higher=False), abs=1e-9)


def test_a_submission_is_scored_by_part_and_over_all_rows(own):
    parts = table_data("diabetes", number=0, rows=48)
    correct = [*parts.public_y, *parts.private_y]
    assert own.submit(correct) == (0.0, 1.0)
    half = [*parts.public_y, *(parts.private_y + 100)]
    entry = own.submit(half)
    assert entry.raw == pytest.approx(100 / 2**0.5, abs=1e-6) and entry.position == 0.5


def test_programs_get_no_labels_of_test_rows(own):
    train_X, train_y, test_X = own.given
    assert (len(train_X), len(train_y), len(test_X)) == (16, 16, 32)


@pytest.mark.parametrize("predictions", [None, [], [1.0] * 31, [float("nan")] * 32])
def test_invalid_submissions_have_no_score(own, predictions):
    assert own.submit(predictions) is None
