import json

import pytest
from helpers.step_play import WORDS, Digits, play

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Group
from handaxe.core.validation import check_group
from handaxe.papers.sport.step_candidates import CANDIDATES, step_candidates

STOPPED = Ending("truncated", "stopped")


def test_step_candidates_continues_from_the_best_by_hand():
    sampled, judge = [], Digits()
    found = play(WORDS, sampled=sampled, judge=judge)
    assert sampled == list(zip(["", "", "", "5", "5", "5", "5,6", "5,6", "5,6"], WORDS, strict=True))
    assert judge.seen == [["2", "5", "1"], ["5,4", "5,6", "5,6"], ["a9", "b3", "5,6,8"]]
    ended = [one for one in found if one.ending.kind == "completed"]
    assert sorted(one.final_text for one in ended) == ["a9", "b3"]
    told = {",".join([call.arguments["text"] for call in one.calls] + [one.final_text]): one for one in found}
    notes = {name: one.notes[CANDIDATES] for name, one in told.items()}
    assert notes["5,6,a9"] == [5.0, 6.0, 9.0] and notes["5,6,b3"] == [5.0, 6.0, 3.0]
    assert notes["2,"] == [2.0] and notes["1,"] == [1.0] and notes["5,4,"] == [5.0, 4.0] and notes["5,6,8,"][2] == 8.0
    assert all(one.ending == STOPPED for one in found if one not in ended) and len(found) == 7
    json.dumps([one.notes for one in found])
    check_group(Group(found[0].task, tuple(found)))


def test_without_a_verifier_the_first_candidate_continues():
    found = play(["2", "5", "yes", "no"], judge=Digits(fails=True), samples=2)
    assert any([call.arguments["text"] for call in one.calls] == ["2"] and one.final_text == "yes" for one in found)
    assert all(score is None for one in found for score in one.notes[CANDIDATES])


def test_one_candidate_is_a_plain_rollout():
    (one,) = play(["2", "5", "yes7"], samples=1)
    assert one.final_text == "yes7" and one.notes[CANDIDATES] == [2.0, 5.0, 7.0] and one.branch_of is None


def test_the_limit_of_turns_ends_the_rollout():
    found = play(["2", "5", "1", "4"], samples=2, max_turns=2)
    assert {one.ending.reason for one in found} == {"turns", "stopped"} and max(len(one.turns) for one in found) == 2


def test_step_candidates_rejects_invalid_arguments():
    with pytest.raises(InputError, match="samples=0"):
        step_candidates(judge=Digits(), samples=0)
