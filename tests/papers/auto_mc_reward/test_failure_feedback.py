from handaxe.papers.auto_mc_reward.failure_feedback import failure_feedback
from handaxe.training.stages.parts.program_search import FAILED, TASK, ProgramTrial

CURVES = {
    TASK: (0.1, 0.5),
    "component/ok": (1.0, 2.0),
    "failure/door": (0.2, 1.0, -1.0),
    "failure/key": (0.5, 0.9, 1.0),
}
GOOD = ProgramTrial("good", 0.5, CURVES)
BROKEN = ProgramTrial("broken", FAILED, {}, "KeyError: wood")


def test_failure_feedback_matches_its_example():
    found = failure_feedback()([BROKEN, GOOD], (), 0)
    assert found.text.splitlines() == [
        "good",
        "After training, the policy solves 50 % of the tasks.",
        "Failed rollouts: door changes in 20 %, in 100 % of the solved rollouts. "
        "Suggestion: reward a decrease of door.",
        "Failed rollouts: key changes in 50 %, in 90 % of the solved rollouts. Suggestion: reward an increase of key.",
    ]
    assert found.bad is None
    assert set(found.good.curves) == {TASK, "failure/door", "failure/key"}


def test_failure_feedback_without_analysis_names_no_cause():
    found = failure_feedback(analysis=False)([GOOD], (), 0)
    assert found.text == "good\nAfter training, the policy solves 50 % of the tasks."
    assert found.good.curves == {TASK: (0.1, 0.5)}


def test_failure_feedback_is_none_if_every_program_failed():
    assert failure_feedback()([BROKEN], (), 0) is None
