from math import sqrt

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.editscore.self_ensemble import self_ensemble
from handaxe.worlds.canvas.canvas import canvas
from handaxe.worlds.canvas.edits import edited_pairs
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
WORLD = canvas(slips=0.0)
EXPERT = WORLD.expert
assert EXPERT is not None
CONTRACT = []
LAB = "reads images of canvas, which these rollouts do not have"
PICTURES = [(one.image, one.request) for pair in edited_pairs(2, seed=0) for one in pair]


class Texts:
    """A grader with a text for each sample and question; keeps the questions of each call."""

    def __init__(self, *texts):
        self._texts, self.calls = texts, []

    def __call__(self, questions, number):
        self.calls.append((number, len(questions)))
        semantic, quality = self._texts[number % len(self._texts)]
        return [semantic if one.about == "semantic" else quality for one in questions]


def test_the_score_is_the_mean_of_the_passes():
    judge = self_ensemble(grader=Texts(("20 15", "18"), ("10 10", "10")), passes=2)
    found_NK = judge.pass_scores(PICTURES)
    np.testing.assert_allclose(found_NK, [[sqrt(43.2), 4.0]] * 4, atol=1e-9)
    task = WORLD.tasks("train", 1, 0)[0]
    one = demonstrate(WORLD.env(()), task, EXPERT, format=Compact(TinyImageProcessor(8)))
    np.testing.assert_allclose(judge.score(Group(task, (one, one))), (sqrt(43.2) + 4) / 2, atol=1e-9)
    assert judge.score(Group(task, ())).shape == (0,)


def test_an_unreadable_answer_alone_is_asked_again():
    grader = Texts(("20", "18"), ("20 15", "1"))
    found_NK = self_ensemble(grader=grader, passes=1, tries=3).pass_scores(PICTURES)
    assert grader.calls == [(0, 8), (1, 4)]
    np.testing.assert_allclose(found_NK, [[sqrt(43.2)]] * 4, atol=1e-9)


def test_a_pass_without_grades_is_left_out_and_a_score_without_a_pass_is_an_error():
    judge = self_ensemble(grader=Texts(("20", "18"), ("20 15", "18")), passes=2, tries=1)
    assert np.isnan(judge.pass_scores(PICTURES)[:, 0]).all()
    task = WORLD.tasks("train", 1, 0)[0]
    one = demonstrate(WORLD.env(()), task, EXPERT, format=Compact(TinyImageProcessor(8)))
    assert judge.score(Group(task, (one,)))[0] == pytest.approx(sqrt(43.2))
    with pytest.raises(VerifierError, match="no pass has grades"):
        self_ensemble(grader=Texts(("20", "18")), tries=2).score(Group(task, (one,)))


def test_numbers_below_one_are_errors():
    with pytest.raises(InputError, match="passes is 0"):
        self_ensemble(grader=Texts(), passes=0)
