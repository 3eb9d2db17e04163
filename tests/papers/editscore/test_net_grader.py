import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.editscore.edit_questions import edit_questions
from handaxe.papers.editscore.net_grader import NetGrader, fit_grader, tempered
from handaxe.papers.editscore.overall import read_grades
from handaxe.worlds.canvas.edits import edited_pairs

pytest.importorskip("PIL")
LOGITS = np.log([0.2, 0.5, 0.3])


@pytest.mark.parametrize("uniform, grade", [(0.0, 0), (0.19, 0), (0.21, 1), (0.6, 1), (0.71, 2), (0.999, 2)])
def test_a_sample_by_hand(uniform, grade):
    assert tempered(LOGITS, np.array(uniform), temperature=1.0) == grade
    assert tempered(LOGITS, np.array(uniform), temperature=0.0) == 1


def test_shares_of_samples_are_the_tempered_probabilities():
    chance = np.exp(LOGITS / 0.7) / np.exp(LOGITS / 0.7).sum()
    uniform_N = (np.arange(10000) + 0.5) / 10000
    found = tempered(np.tile(LOGITS, (10000, 1)), uniform_N, temperature=0.7)
    np.testing.assert_allclose(np.bincount(found, minlength=3) / 10000, chance, atol=1e-3)
    with pytest.raises(InputError, match="temperature is -1"):
        tempered(LOGITS, np.array(0.0), temperature=-1)


@pytest.fixture(scope="module")
def grader():
    return fit_grader(edits=30, steps=100, noise=0.0)


def test_a_sample_is_repeatable_and_other_samples_differ(grader):
    made = [one for pair in edited_pairs(6, seed=5) for one in pair]
    questions = [ask for one in made for ask in edit_questions(one.image, one.request)]
    first, again, other = (grader(questions, number) for number in (0, 0, 1))
    assert first == again != other
    assert grader(questions[::-1], 0) == first[::-1]
    assert all(read_grades(text, count=2 - k % 2) for k, text in enumerate(first))
    greedy = NetGrader(grader.net, temperature=0.0)
    assert greedy(questions, 0) == greedy(questions, 1) and greedy([], 0) == []


def test_a_fit_needs_edits():
    with pytest.raises(InputError, match="edits is 0"):
        fit_grader(edits=0)
