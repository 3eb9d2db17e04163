"""Grades by questions: the expected grade by hand, one batch a group, and no grade is no score."""

import math

import numpy as np
import pytest
from helpers.answerers import Says, failing

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import VerifierError
from handaxe.judges.asked_grades import asked_grades
from handaxe.testing.make_records import make_group, make_trajectory


class Grades(Says):
    """Probabilities of grades by the answer's text; 0 for all others."""

    def _of(self, ask):
        table = self.chances.get(ask.fields["answer"], {"5": 0.9})
        return AskAnswer(label_logp={label: math.log(table.get(label, 0) or 1e-12) for label in ask.prompt.labels})


LAB = "asks a language model; `handaxe judge attack METHOD` attacks it"
CONTRACT = [{"desk": AskDesk(Grades({text: {"0": 0.1, "10": 0.3} for text in ("a", "b", "", "c")}), min_coverage=0)}]


def group(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text], id=text) for text in texts])


def test_expected_grades_by_hand():
    answerer = Grades({"a": {"0": 0.1, "5": 0.2, "10": 0.1}, "b": {"7": 0.5}})
    judge = asked_grades(desk=AskDesk(answerer))
    np.testing.assert_allclose(judge.score(group("a", "b", "a")), [0.5, 0.7, 0.5], atol=1e-6)
    assert len(answerer.asked) == 2 and judge.score(make_group(trajectories=[])).shape == (0,)


def test_no_grade_names_the_rollout():
    judge = asked_grades(desk=AskDesk(failing("b", "unavailable"), min_coverage=0))
    with pytest.raises(VerifierError, match="the judge gave no grade: unavailable 'why'") as caught:
        judge.score(made := group("b"))
    assert caught.value.trajectory == made[0].id
