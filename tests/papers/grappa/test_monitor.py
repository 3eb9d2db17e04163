import pytest
from helpers.answerers import Says, failing
from hypothesis import given
from hypothesis import strategies as st

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.papers.grappa.monitor import asked_monitor, rule_monitor


def test_rule_monitor_matches_its_example():
    failed = rule_monitor(patience=2)
    assert failed([-5, -3, -3, -4], "", []) and not failed([-5, -3, -3, -2], "", [])
    assert not failed([-5, -6], "", []) and failed([-5, -6, -6], "", [])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.integers(1, 4))
def test_rule_monitor_equals_a_slow_loop(scores, patience):
    best = max(range(len(scores)), key=lambda k: (scores[k], -k))  # the first of the best
    assert rule_monitor(patience=patience)(scores, "", []) == (len(scores) - 1 - best >= patience)


def test_a_model_is_asked_every_patience_actions_about_the_last_views():
    model = Says({"wall": 0.9})
    failed = asked_monitor(AskDesk(model), patience=2)
    views = ["door", "a", "b", "c", "wall"]
    assert [failed([0.0] * n, "go", views[:n]) for n in range(1, 6)] == [False, False, False, False, True]
    assert len(model.asked) == 2 and "door" not in model.asked[1].fields["views"]


def test_an_unanswered_question_is_no_verdict_and_an_absent_model_ends_the_study():
    assert asked_monitor(AskDesk(failing("wall", "too_long")), patience=1)([0, 0], "go", ["wall"]) is None
    with pytest.raises(InputError, match=r"the monitor does not answer \(unavailable\)"):
        asked_monitor(AskDesk(failing("wall", "unavailable")), patience=1)([0, 0], "go", ["wall"])


def test_a_patience_below_1_is_rejected():
    for make in (rule_monitor, lambda patience: asked_monitor(AskDesk(Says({})), patience=patience)):
        with pytest.raises(InputError, match="a patience is 1 or more"):
            make(patience=0)
