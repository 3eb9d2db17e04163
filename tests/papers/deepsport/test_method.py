"""Constants of the method deepsport, read by the tests of every method (tests/papers), and its rewards by number."""

import pytest

ABOUT_REWARDS = True
MAY_TIE = "a repeated call breaks the format, by the paper's rule"


def test_deepsport_adds_half_to_a_correct_answer_with_a_look():
    pytest.importorskip("av")
    from helpers.clips_rollouts import attempt, gold, method_of, outcomes, task_of

    method = method_of("deepsport")
    task = task_of(method)
    look = gold(task)
    attempts = [attempt(method, task, look), attempt(method, task), attempt(method, task, look, says="no")]
    attempts += [attempt(method, task, look, look), attempt(method, task, look, broken=True)]
    assert outcomes(method, *attempts) == pytest.approx([1.5, 1.0, 0.03, -0.05, -0.05])
    assert outcomes(method, attempt(method, task, ("0 64",), ("0 64 4",))) == [1.5], "another number of frames"
