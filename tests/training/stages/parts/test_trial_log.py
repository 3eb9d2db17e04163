import json

import pytest

from handaxe.core.errors import CheckpointError
from handaxe.training.stages.parts.program_search import FAILED, ProgramTrial
from handaxe.training.stages.parts.trial_log import TrialLog

ONE = ProgramTrial("one", 0.5, {"task": (0.25, 0.5)})
TWO = ProgramTrial("two", FAILED, {}, "ZeroDivisionError: division by zero")


def test_trial_log_returns_its_trials_in_order_and_for_their_programs_alone(tmp_path):
    first = TrialLog(tmp_path / "stage", resume=False)
    assert first.known("one") is None and first.add(ONE) == ONE and first.add(TWO) == TWO
    again = TrialLog(tmp_path / "stage", resume=True)
    assert again.known("two") is None
    assert again.known("one") == ONE and again.known("one") is None and again.known("two") == TWO
    assert again.known("three") is None


def test_trial_log_without_resume_or_folder_knows_nothing(tmp_path):
    TrialLog(tmp_path, resume=False).add(ONE)
    assert TrialLog(tmp_path, resume=False).known("one") is None
    assert TrialLog(None, resume=False).add(TWO) == TWO


def test_trial_log_drops_trials_after_a_program_that_changed(tmp_path):
    log = TrialLog(tmp_path, resume=False)
    log.add(ONE)
    log.add(TWO)
    again = TrialLog(tmp_path, resume=True)
    again.add(TWO)
    assert [one["text"] for one in json.loads((tmp_path / "trials.json").read_text())] == ["two"]


@pytest.mark.parametrize("text", ["{", "[1]", '[{"text": "x"}]', '{"a": 1}', "[null]"])
def test_trial_log_refuses_a_damaged_file(tmp_path, text):
    (tmp_path / "trials.json").write_text(text)
    with pytest.raises(CheckpointError, match="is damaged"):
        TrialLog(tmp_path, resume=True)
