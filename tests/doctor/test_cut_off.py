from dataclasses import replace

from handaxe.core.records import STOPPED, Ending
from handaxe.doctor.cut_off import check_cut_off
from handaxe.testing.records import make_trajectory
from handaxe.testing.rewards import without_turns

WHOLE = make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []])
CUT = make_trajectory(texts=["408"], finish=["length"], ending="truncated")
TURNS = make_trajectory(texts=["408"], ending=Ending("truncated", "turns"))


def test_what_ends_by_itself():
    found = check_cut_off([WHOLE] * 9, context=64)
    assert (found.level, found.figures["share"], found.figures["turns/stop"]) == ("ok", 0, 18)


def test_what_is_cut_and_by_what():
    found = check_cut_off([WHOLE, WHOLE, WHOLE, TURNS], context=64)
    assert found.level == "look" and found.figures["by/turns"] == 1 and "--max-turns" in found.remedy
    found = check_cut_off([WHOLE, CUT, CUT], context=64)
    assert found.level == "wrong" and found.figures["by/context"] == 2 and "longer context" in found.remedy
    turn = CUT.turns[0]
    full = replace(CUT, turns=(replace(turn, sampling=replace(turn.sampling, max_tokens=turn.stop - turn.start)),))
    found = check_cut_off([full], context=64)
    assert found.figures["by/max_tokens"] == 1 and "--max-tokens" in found.remedy


def test_prompts_that_fill_the_context():
    silent = replace(without_turns(CUT), ending=CUT.ending)
    found = check_cut_off([WHOLE] * 30 + [silent], context=64)
    assert found.level == "wrong" and "the prompt fills the context" in found.found


def test_what_was_stopped_does_not_count():
    assert check_cut_off([WHOLE, replace(CUT, ending=STOPPED)], context=64).figures["attempts"] == 1
    assert check_cut_off([replace(CUT, ending=STOPPED)], context=64).level == "look"
