import threading

import pytest

from handaxe.core.errors import TaskError, VerifierError
from handaxe.rewards.math_match import math_match
from handaxe.rewards.parts.extract import boxed
from handaxe.testing.records import make_group, make_task, make_trajectory

math_verify = pytest.importorskip("math_verify")


def outcome(reward, answer, *texts):
    task = make_task(answer=answer)
    return reward(make_group(trajectories=[make_trajectory(texts=[t], task=task) for t in texts])).outcome.tolist()


def test_example():
    texts = (r"it is \boxed{0.5}", r"\boxed{2/4}", r"\boxed{0.6}")
    assert outcome(math_match(), r"\frac{1}{2}", *texts) == [1, 1, 0]


def test_plain_numbers_and_nothing():
    assert outcome(math_match(), "12", "The answer is 12", "13", "") == [1, 0, 0]
    assert outcome(math_match(), 12, "12") == [1]


def test_latex_without_anchors_is_read_when_extracted():
    assert outcome(math_match(extract=boxed), r"\frac{1}{2}", r"\boxed{\frac{2}{4}}", r"\boxed{\frac{3}{4}}") == [1, 0]


def test_any_of_several_answers_is_right():
    assert outcome(math_match(), ["1", "2"], r"\boxed{2}", r"\boxed{3}") == [1, 0]


def test_no_answer_or_one_that_cannot_be_parsed():
    with pytest.raises(TaskError):
        outcome(math_match(), None, "1")
    with pytest.raises(TaskError, match="cannot parse"):
        outcome(math_match(), "", "1")


def test_undecided_is_not_wrong():
    endless = make_trajectory(texts=[r"\boxed{9^{9^{9^{9^{9}}}} - 1}"], task=make_task(answer="2"))
    group = make_group(trajectories=[endless])
    try:
        scored = math_match(seconds=1)(group).outcome.tolist()
    except VerifierError as error:
        assert error.trajectory == group[0].id
    else:  # a version that decides it at once is as good, as long as it is not called right
        assert scored == [0]


def test_without_a_limit_it_works_off_the_main_thread():
    found = []
    work = threading.Thread(target=lambda: found.extend(outcome(math_match(seconds=None), "1", "1", "2")))
    work.start()
    work.join()
    assert found == [1, 0]
