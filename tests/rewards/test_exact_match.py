import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.extract import answer_line, last_number
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("exact_match()", arithmetic, lambda world: exact_match()),
    LabCase("exact_match()", descriptions, lambda world: exact_match()),
    LabCase("exact_match(extract=last_number)", arithmetic, lambda world: exact_match(extract=last_number)),
]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_exact_match_matches_the_docstring_example():
    assert outcome(exact_match(), "Eiffel Tower", "the  Eiffel tower!", "Eiffel", "") == [1, 0, 0]


def test_each_of_several_answers_is_correct():
    assert outcome(exact_match(), ["Paris", "Paris, France"], "paris france", "paris", "france") == [1, 1, 0]


def test_an_answer_empty_after_normalisation_never_matches():
    assert outcome(exact_match(), "the", "a", "the", "") == [0, 0, 0]


def test_extract_and_normalise_are_arguments():
    assert outcome(exact_match(extract=answer_line), "7", "x\nanswer: 7", "7") == [1, 0]
    assert outcome(exact_match(normalise=str.strip), "-7", "-7", "7", " -7 ") == [1, 0, 1]


def test_no_turn_scores_zero_and_no_answer_is_an_error():
    task = make_task(answer="7")
    assert exact_match()(make_group(trajectories=[make_trajectory(layouts=["UUt"], task=task)])).outcome.tolist() == [0]
    with pytest.raises(TaskError):
        outcome(exact_match(), None, "7")
