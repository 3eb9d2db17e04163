import pytest

from handaxe.core.errors import VerifierError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.tgrl.unseen_gym import unseen_gym
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts.extract import answer_line
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"scorer": lambda task, text: float(text == task.answer)}]
LAB = [
    LabCase("answer_score(...)", arithmetic, lambda world: world.correct),
    LabCase("answer_score(...)", unseen_gym, lambda world: world.correct),
]


def group_of(*texts):
    task = make_task(answer="x")
    return make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])


def test_answer_score_matches_the_docstring_example():
    assert answer_score(scorer=lambda task, text: len(text) / 10)(group_of("four", "")).outcome.tolist() == [0.4, 0]


def test_the_scorer_receives_task_and_extracted_text():
    seen = []
    reward = answer_score(scorer=lambda task, text: seen.append((task.answer, text)) or 1.0, extract=answer_line)
    reward(group_of("answer: 7", "7"))
    assert seen == [("x", "7"), ("x", "")]


def test_a_failing_scorer_names_the_trajectory():
    group = group_of("a", "b")
    with pytest.raises(VerifierError, match=group[1].id):
        answer_score(scorer=lambda task, text: {"a": 1.0}[text])(group)
