import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.one_reward.questions import TAG_SIZE, draw_questions, tag_row
from handaxe.worlds.canvas.edits import ASPECTS, KINDS

pytest.importorskip("PIL")


def test_answers_without_noise_are_those_of_the_qualities():
    asked = draw_questions(12, seed=0)
    assert [one.criterion for one in asked[:4]] == [*ASPECTS, ASPECTS[0]]
    assert {one.kind for one in asked} == set(KINDS)
    for one in asked:
        first, second = (getattr(side, one.criterion) for side in (one.first, one.second))
        assert first != second and one.yes == (first > second)


def test_noise_turns_some_answers():
    sure, unsure = draw_questions(30, seed=0), draw_questions(30, seed=0, noise=2.0)
    assert [one.first for one in sure] == [one.first for one in unsure]
    assert 0 < np.mean([a.yes != b.yes for a, b in zip(sure, unsure, strict=True)]) < 1
    with pytest.raises(InputError, match="noise is -1"):
        draw_questions(1, seed=0, noise=-1)


def test_each_task_and_criterion_has_a_place_of_its_own():
    rows = np.array([tag_row(kind, name) for kind in KINDS for name in ASPECTS])
    np.testing.assert_array_equal(rows, np.eye(TAG_SIZE))
    with pytest.raises(InputError, match="not 'blur' by 'clean'"):
        tag_row("blur", "clean")
