from dataclasses import replace

from handaxe.core.records import STOPPED, Ending
from handaxe.doctor.truncation import check_truncation
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.rewards import without_turns

WHOLE = make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []])
CUT = make_trajectory(texts=["408"], finish=["length"], ending="truncated")
TURNS = make_trajectory(texts=["408"], ending=Ending("truncated", "turns"))


def test_completed_rollouts_are_ok():
    found = check_truncation([WHOLE] * 9, context=64)
    assert (found.level, found.figures["share"], found.figures["turns/stop"]) == ("ok", 0, 18)


def test_truncated_rollouts_are_counted_by_limit():
    found = check_truncation([WHOLE, WHOLE, WHOLE, TURNS], context=64)
    assert found.level == "warning" and found.figures["by/turns"] == 1 and "--max-turns" in found.remedy
    found = check_truncation([WHOLE, CUT, CUT], context=64)
    assert found.level == "error" and found.figures["by/context"] == 2 and "longer context" in found.remedy
    turn = CUT.turns[0]
    full = replace(CUT, turns=(replace(turn, sampling=replace(turn.sampling, max_tokens=turn.stop - turn.start)),))
    found = check_truncation([full], context=64)
    assert found.figures["by/max_tokens"] == 1 and "--max-tokens" in found.remedy


def test_prompt_that_fills_the_context_is_an_error():
    silent = replace(without_turns(CUT), ending=CUT.ending)
    found = check_truncation([WHOLE] * 30 + [silent], context=64)
    assert found.level == "error" and "the prompt fills the context" in found.found


def test_stopped_rollouts_do_not_count():
    assert check_truncation([WHOLE, replace(CUT, ending=STOPPED)], context=64).figures["rollouts"] == 1
    assert check_truncation([replace(CUT, ending=STOPPED)], context=64).level == "warning"
