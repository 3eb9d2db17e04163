import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.numeric_match import numeric_match
from handaxe.rewards.parts.extract import final_text
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("numeric_match()", arithmetic, lambda world: numeric_match()),
]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_numeric_match_matches_the_docstring_example():
    assert outcome(numeric_match(abs_tol=1e-6), 12.5, "so it is 12.50", "12.4", "twelve") == [1, 0, 0]


def test_absolute_and_relative_tolerances():
    assert outcome(numeric_match(abs_tol=1e-3), 2, "2.0009", "2.0011") == [1, 0]
    assert outcome(numeric_match(rel_tol=0.05), -200, "-209", "-211", "200") == [1, 0, 0]


def test_large_integers_are_compared_exactly():
    gold = "123456789012345678901"
    assert outcome(numeric_match(), gold, "123456789012345678901", "123456789012345678902") == [1, 0]


@pytest.mark.parametrize(
    "text, right",
    [
        ("3/4", 1),
        ("0.75", 1),
        (".75", 1),
        ("75e-2", 1),
        ("$0.75", 1),
        ("0.75%", 1),
        ("3 / 4", 1),
        ("1/0", 0),
        ("nan", 0),
        ("inf", 0),
        ("0_75", 0),
        ("", 0),
        ("1e999999999", 0),
        ("9" * 200, 0),
    ],
)
def test_numbers_are_read_in_common_spellings(text, right):
    assert outcome(numeric_match(extract=final_text), "0.75", text) == [right]


def test_thousands_separators_and_several_references():
    assert outcome(numeric_match(), "1,024", "it is 1,024.", "1024", "1.024") == [1, 1, 0]
    assert outcome(numeric_match(), [1, 2], "2", "3") == [1, 0]


@pytest.mark.parametrize("answer", [None, "seven", ["1", "x"]])
def test_a_reference_without_a_number_is_an_error(answer):
    with pytest.raises(TaskError, match="task-0"):
        outcome(numeric_match(), answer, "9")
