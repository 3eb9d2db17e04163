from dataclasses import replace

import pytest

from handaxe.core.endings import treatments
from handaxe.core.records import Ending
from handaxe.core.requests import Attempt
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.training.loop.group_play import GroupPlay

TASK = make_task()
STOPPED = Ending("truncated", "stopped")


def attempt(sample, retry=0):
    name = f"0/a/{sample}" + (f"/retry-{retry}" if retry else "")
    return Attempt(TASK, None, None, None, name, sample, retry, 100)


def play(count, *, size=None, on_ending=None, retries=0, stop_when=None):
    return GroupPlay(
        TASK,
        0,
        0,
        [attempt(k) for k in range(count)],
        size=size or count,
        treatment=treatments(on_ending or {}),
        retries=retries,
        again=lambda one, n: attempt(one.sample, n),
        stop_when=stop_when,
    )


def result(one, kind="completed", reason=""):
    made = make_trajectory(layouts=["UU pp"])
    return [replace(made, id=one.id, sample=one.sample, ending=Ending(kind, reason))]


def names(tried):
    return [one.id for one in tried.group]


def test_siblings_stand_by_sample_whoever_ends_first():
    group = play(3)
    for k in (2, 0, 1):
        assert not group.over
        assert group.ended(attempt(k), result(attempt(k))) == ([], [])
    assert group.over
    tried = group.tried(5)
    assert names(tried) == ["0/a/0", "0/a/1", "0/a/2"] and tried.group.step == 5
    assert tried.scorable.all() and tried.trains.all() and tried.fate == "trained"


def test_the_spare_ones_are_stopped_and_kept_unscored_behind():
    group = play(4, size=2)
    assert group.ended(attempt(3), result(attempt(3))) == ([], [])
    assert group.ended(attempt(1), result(attempt(1))) == ([], ["0/a/0", "0/a/2"])
    assert not group.over  # what was stopped is waited for: the record holds it
    assert group.ended(attempt(2), result(attempt(2))) == ([], [])  # it ended in the same instant
    assert group.ended(attempt(0), result(attempt(0), "truncated", "stopped")) == ([], [])
    tried = group.tried(0)
    assert group.over and names(tried) == ["0/a/1", "0/a/3", "0/a/2", "0/a/0"]
    assert tried.scorable.tolist() == tried.trains.tolist() == [True, True, False, False]


def test_an_attempt_that_died_is_none_of_the_first():
    group = play(3, size=2)
    group.ended(attempt(0), result(attempt(0), "infra_error"))
    assert group.ended(attempt(1), result(attempt(1))).stop == []  # one of two so far
    group.ended(attempt(2), result(attempt(2)))
    tried = group.tried(0)
    assert group.over and tried.scorable.tolist() == [False, True, True]


def test_a_retry_takes_the_place_of_what_it_repeats():
    group = play(2, on_ending={"infra_error": "retry"}, retries=2)
    group.ended(attempt(1), result(attempt(1)))
    (again,), _ = group.ended(attempt(0), result(attempt(0), "infra_error"))
    assert again == attempt(0, 1) and not group.over
    (twice,), _ = group.ended(again, result(again, "infra_error"))
    assert group.ended(twice, result(twice, "infra_error")) == ([], [])  # the retries are spent
    tried = group.tried(0)
    assert names(tried) == ["0/a/0/retry-2", "0/a/1", "0/a/0", "0/a/0/retry-1"]
    assert tried.scorable.tolist() == [False, True, False, False]


def test_what_is_stopped_is_not_tried_again():
    group = play(2, size=1, on_ending={"truncated": "retry"}, retries=3)
    assert group.ended(attempt(0), result(attempt(0))).stop == ["0/a/1"]
    assert group.ended(attempt(1), result(attempt(1), "truncated", "stopped")) == ([], [])
    assert group.over


def test_a_stop_rule_sees_what_may_be_scored_and_decides():
    seen = []

    def rule(ended, size):
        seen.append(([one.id for one in ended], size))
        return len(ended) >= 2

    group = play(5, size=4, stop_when=rule)
    group.ended(attempt(4), result(attempt(4)))
    group.ended(attempt(1), result(attempt(1), "infra_error"))
    assert group.ended(attempt(2), result(attempt(2))).stop == ["0/a/0", "0/a/3"]
    assert seen == [(["0/a/4"], 4), (["0/a/4"], 4), (["0/a/2", "0/a/4"], 4)]
    for k in (0, 3):
        group.ended(attempt(k), result(attempt(k), "truncated", "stopped"))
    assert names(group.tried(0)) == ["0/a/1", "0/a/2", "0/a/4", "0/a/0", "0/a/3"]


def test_the_last_one_decides_nothing():
    def rule(ended, size):
        raise AssertionError("there is nobody left to stop")

    group = play(1, stop_when=rule)
    assert group.ended(attempt(0), result(attempt(0))) == ([], []) and group.over


@pytest.mark.parametrize("kind, fate", [("infra_error", "dropped"), ("completed", "trained")])
def test_one_bad_ending_can_drop_the_group(kind, fate):
    group = play(2, on_ending={"infra_error": "drop_group"})
    group.ended(attempt(0), result(attempt(0), kind))
    group.ended(attempt(1), result(attempt(1)))
    assert group.tried(0).fate == fate


def test_what_a_strategy_gave_up_is_kept_unscored_behind():
    group = play(1)
    (kept,), (given_up,) = result(attempt(0)), result(attempt(0), "truncated", "stopped")
    other = replace(kept, id="0/a/0/2")
    group.ended(attempt(0), [kept, replace(given_up, id="0/a/0/1"), other])
    tried = group.tried(0)
    assert names(tried) == ["0/a/0", "0/a/0/2", "0/a/0/1"]
    assert tried.scorable.tolist() == tried.trains.tolist() == [True, True, False]
