"""Constants of the method longvt, read by the tests of every method (tests/papers), and its rewards by number."""

import pytest

SHORT = ["--rft-tasks", "2"]
ABOUT_REWARDS = True
MAY_TIE = "a wrong answer after a perfect look earns as much as a correct one without a look, by the paper's weights"


def test_longvt_rewards_the_overlap_of_the_last_look():
    """The paper: a correct answer after the crop (10, 30) instead of (20, 40) earns 2.333, by recall 2.5."""
    pytest.importorskip("av")
    from helpers.clips_rollouts import attempt, method_of, outcomes, task_of

    method, recall = method_of("longvt"), method_of("longvt", "--measure", "recall")
    task = task_of(method, where=lambda one: one.metadata["gold"][0] > 4)
    low, high = task.metadata["gold"]
    half, size = f"{low - 4} {low + 4}", high - low
    one, whole = attempt(method, task, "0 64", half), attempt(method, task, half, "0 64")
    assert outcomes(method, one, whole) == pytest.approx([2 + 4 / (size + 4), 2 + size / 64])
    assert outcomes(recall, one, whole) == pytest.approx([2 + 4 / size, 3.0])
    assert outcomes(method, attempt(method, task, says=half)) == [1.0], "words are no look"
    assert outcomes(method, attempt(method, task, (f"{low} {high} 4",))) == [3.0], "a sheet of frames is a look"
