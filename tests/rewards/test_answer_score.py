import pytest

from handaxe.core.errors import VerifierError
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts.extract import answer_line
from handaxe.testing.records import make_group, make_task, make_trajectory

CONTRACT = [{"scorer": lambda task, text: float(text == task.answer)}]


def group_of(*texts):
    task = make_task(answer="x")
    return make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])


def test_example():
    assert answer_score(scorer=lambda task, text: len(text) / 10)(group_of("four", "")).outcome.tolist() == [0.4, 0]


def test_the_scorer_sees_task_and_extracted_text():
    seen = []
    reward = answer_score(scorer=lambda task, text: seen.append((task.answer, text)) or 1.0, extract=answer_line)
    reward(group_of("answer: 7", "7"))
    assert seen == [("x", "7"), ("x", "")]


def test_a_scorer_that_fails_names_the_trajectory():
    group = group_of("a", "b")
    with pytest.raises(VerifierError, match=group[1].id):
        answer_score(scorer=lambda task, text: {"a": 1.0}[text])(group)
