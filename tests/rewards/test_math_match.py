import threading

import pytest

from handaxe.core.errors import TaskError, VerifierError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.math_match import math_match
from handaxe.rewards.parts.extract import boxed
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

math_verify = pytest.importorskip("math_verify")

LAB = [
    LabCase(
        "math_match()",
        arithmetic,
        lambda world: math_match(),
        model=True,
        why=(
            "math-verify evaluates a formula: the final text `2*6 =` has the value 12. Avoid "
            "questions equal to the answer, or extract a boxed answer first."
        ),
    ),
]


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_math_match_matches_the_docstring_example():
    texts = (r"it is \boxed{0.5}", r"\boxed{2/4}", r"\boxed{0.6}")
    assert outcome(math_match(), r"\frac{1}{2}", *texts) == [1, 1, 0]


def test_plain_numbers_match_and_empty_text_does_not():
    assert outcome(math_match(), "12", "The answer is 12", "13", "") == [1, 0, 0]
    assert outcome(math_match(), 12, "12") == [1]


def test_latex_without_anchors_is_read_when_extracted():
    assert outcome(math_match(extract=boxed), r"\frac{1}{2}", r"\boxed{\frac{2}{4}}", r"\boxed{\frac{3}{4}}") == [1, 0]


def test_each_of_several_answers_is_correct():
    assert outcome(math_match(), ["1", "2"], r"\boxed{2}", r"\boxed{3}") == [1, 0]


def test_a_task_without_a_parsable_answer_is_an_error():
    with pytest.raises(TaskError):
        outcome(math_match(), None, "1")
    with pytest.raises(TaskError, match="cannot parse"):
        outcome(math_match(), "", "1")


def test_a_timeout_leaves_the_rollout_unscored():
    endless = make_trajectory(texts=[r"\boxed{9^{9^{9^{9^{9}}}} - 1}"], task=make_task(answer="2"))
    group = make_group(trajectories=[endless])
    try:
        scored = math_match(seconds=1)(group).outcome.tolist()
    except VerifierError as error:
        assert error.trajectory == group[0].id
    else:  # a version that decides it at once is as good, as long as it is not called right
        assert scored == [0]


def test_without_a_limit_it_works_in_any_thread():
    found = []
    work = threading.Thread(target=lambda: found.extend(outcome(math_match(seconds=None), "1", "1", "2")))
    work.start()
    work.join()
    assert found == [1, 0]
