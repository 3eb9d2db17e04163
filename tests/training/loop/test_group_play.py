from dataclasses import replace

import pytest

from handaxe.core.endings import treatments
from handaxe.core.records import Disposition, Ending
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


def names(played):
    return [one.id for one in played.group]


def trains(played):
    """Whether each rollout is scorable and not masked."""
    masked = [any(one.kind == "masked" for one in own) for own in played.dispositions]
    return [bool(ok) and not out for ok, out in zip(played.scorable, masked, strict=True)]


def test_siblings_stand_by_sample_whoever_ends_first():
    group = play(3)
    for k in (2, 0, 1):
        assert not group.over
        assert group.ended(attempt(k), result(attempt(k))) == ([], [])
    assert group.over
    played = group.played(5)
    assert names(played) == ["0/a/0", "0/a/1", "0/a/2"] and played.group.step == 5
    assert played.scorable.all() and all(trains(played)) and played.dispositions == ((),) * 3


def test_the_spare_ones_are_stopped_and_kept_unscored_behind():
    group = play(4, size=2)
    assert group.ended(attempt(3), result(attempt(3))) == ([], [])
    assert group.ended(attempt(1), result(attempt(1))) == ([], ["0/a/0", "0/a/2"])
    assert not group.over  # what was stopped is waited for: the record holds it
    assert group.ended(attempt(2), result(attempt(2))) == ([], [])  # it ended in the same instant
    assert group.ended(attempt(0), result(attempt(0), "truncated", "stopped")) == ([], [])
    played = group.played(0)
    assert group.over and names(played) == ["0/a/1", "0/a/3", "0/a/2", "0/a/0"]
    assert played.scorable.tolist() == trains(played) == [True, True, False, False]


def test_an_attempt_that_died_is_none_of_the_first():
    group = play(3, size=2)
    group.ended(attempt(0), result(attempt(0), "infra_error"))
    assert group.ended(attempt(1), result(attempt(1))).stop == []  # one of two so far
    group.ended(attempt(2), result(attempt(2)))
    played = group.played(0)
    assert group.over and played.scorable.tolist() == [False, True, True]


def test_a_retry_takes_the_place_of_what_it_repeats():
    group = play(2, on_ending={"infra_error": "retry"}, retries=2)
    group.ended(attempt(1), result(attempt(1)))
    (again,), _ = group.ended(attempt(0), result(attempt(0), "infra_error"))
    assert again == attempt(0, 1) and not group.over
    (twice,), _ = group.ended(again, result(again, "infra_error"))
    assert group.ended(twice, result(twice, "infra_error")) == ([], [])  # the retries are spent
    played = group.played(0)
    assert names(played) == ["0/a/0/retry-2", "0/a/1", "0/a/0", "0/a/0/retry-1"]
    assert played.scorable.tolist() == [False, True, False, False]


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
    assert names(group.played(0)) == ["0/a/1", "0/a/2", "0/a/4", "0/a/0", "0/a/3"]


def test_the_last_one_decides_nothing():
    def rule(ended, size):
        raise AssertionError("there is nobody left to stop")

    group = play(1, stop_when=rule)
    assert group.ended(attempt(0), result(attempt(0))) == ([], []) and group.over


@pytest.mark.parametrize("kind, dropped", [("infra_error", True), ("completed", False)])
def test_one_bad_ending_can_drop_the_group(kind, dropped):
    group = play(2, on_ending={"infra_error": "drop_group"})
    group.ended(attempt(0), result(attempt(0), kind))
    group.ended(attempt(1), result(attempt(1)))
    played = group.played(0)
    assert [own[-1:] == (Disposition("dropped", "on_ending"),) for own in played.dispositions] == [dropped] * 2
    assert played.scorable.tolist() == [not dropped] * 2


def test_what_a_strategy_gave_up_is_kept_unscored_behind():
    group = play(1)
    (kept,), (given_up,) = result(attempt(0)), result(attempt(0), "truncated", "stopped")
    other = replace(kept, id="0/a/0/2")
    group.ended(attempt(0), [kept, replace(given_up, id="0/a/0/1"), other])
    played = group.played(0)
    assert names(played) == ["0/a/0", "0/a/0/2", "0/a/0/1"]
    assert played.scorable.tolist() == trains(played) == [True, True, False]
