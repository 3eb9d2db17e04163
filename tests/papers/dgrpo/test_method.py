"""Constants of the method dgrpo, read by the tests of every method (tests/papers), and its task families."""

import pytest

REMEMBERS = "difficulty of families and tasks"


def test_dgrpo_mixes_question_answering_and_grounding():
    """Correct: an equal number, or an interval with IoU 0.5 or more."""
    pytest.importorskip("av")
    from helpers.clips_rollouts import attempt, gold, method_of, outcomes, task_of

    method = method_of("dgrpo")
    families = {task.metadata["family"] for task in method.world.tasks("train", 40, 0)}
    assert families == {"read", "when", "at"}
    task = task_of(method, "when")
    found = [attempt(method, task, says=gold(task)), attempt(method, task, says="0 64")]
    assert outcomes(method, *found) == [1.0, 0.0]
