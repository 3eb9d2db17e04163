import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.hybrid.form_confidence import form_confidence, unsure
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{}]
LAB = [
    LabCase("form_confidence()", arithmetic, lambda world: form_confidence(), why="The form alone earns the reward."),
]


def confidences(answer, *texts, reward=None):
    task = make_task(answer=answer)
    group = make_group(task=task, trajectories=[make_trajectory(texts=[text], task=task) for text in texts])
    return (reward or form_confidence())(group).outcome.tolist()


@pytest.mark.parametrize(
    ("text", "confidence"),
    [("943", 1.0), (" 943 ", 1.0), ("-9.5", 1.0), ("23 41 943", 1 / 3), ("943 apples", 0.5), ("2 or 3?", 0.25)],
)
def test_confidence_falls_with_further_numbers_and_trailing_words(text, confidence):
    assert confidences("943", text) == [pytest.approx(confidence)]


def test_confidence_is_0_without_a_number_on_either_side():
    assert confidences("943", "many", "") == [0.0, 0.0]
    assert confidences("a small box at the top", "a small box", "3") == [0.0, 0.0]


def test_confidence_counts_the_numbers_of_the_closest_reference():
    assert confidences("12 30 44 60", "12 30 44 60", "1 2 3", "1") == [1.0, 0.75, 0.25]
    assert confidences(["ten", "5 and 10"], "5 10", "10") == [1.0, 0.5]


def test_unsure_marks_answers_below_full_confidence():
    assert confidences("943", "943", "943 apples", "", reward=unsure()) == [0.0, 1.0, 1.0]
