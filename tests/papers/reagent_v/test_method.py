"""Constants of the method reagent_v, read by the tests of every method (tests/papers), and its rewards by number."""

import pytest

SHORT = ["--probe-tasks", "8"]
ABOUT_REWARDS = True
EVALUATES_FORCED = True


def test_reagent_v_adds_half_the_critic_to_the_answer():
    """A card at full size has evidence 1; on a sheet of 16 frames, and in the overview, less or none."""
    pytest.importorskip("av")
    from helpers.clips_rollouts import attempt, gold, method_of, outcomes, task_of

    method = method_of("reagent_v")
    task = task_of(method)
    found, blind = attempt(method, task, gold(task)), attempt(method, task)
    wrong, broken = attempt(method, task, gold(task), says="no"), attempt(method, task, gold(task), broken=True)
    assert outcomes(method, found, blind, wrong, broken) == pytest.approx([1.5, 1.0, 0.5, 1.0], abs=0.02)
    alone = method_of("reagent_v", "--critic-weight", "0")
    assert outcomes(alone, found, wrong) == [1.0, 0.0]
