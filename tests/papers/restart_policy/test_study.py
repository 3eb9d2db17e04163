from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import ToolReply
from handaxe.papers.restart_policy import _fit, _place_figures, _rule_figures
from handaxe.papers.restart_policy.abort_rule import AbortRule
from handaxe.papers.restart_policy.expected_makespan import AttemptRates, expected_makespan
from handaxe.papers.restart_policy.play_attempts import AttemptCounts
from handaxe.testing.make_records import make_trajectory

TURNS = 6


def attempt(number, replies):
    """An attempt with a call and a reply a turn; ! marks a failed one."""
    said = [[ToolReply(f"{k}-0", "act", text, "failed" if "!" in text else "ok")] for k, text in enumerate(replies)]
    calls = [["act"]] * len(said)
    return make_trajectory(texts=[""] * len(said), calls=calls, replies=said, id=f"t/{number}")


def draw(number):
    """A success of 4 turns, or a failure of 6 that most often shows at the second turn."""
    rng = np.random.default_rng(number)
    won = rng.random() < 0.4
    replies = [f"{k}" for k in range(4 if won else TURNS)]
    if rng.random() < (0.1 if won else 0.8):
        replies[1:] = ["wall!"] * (len(replies) - 1)
    return attempt(number, replies)


@pytest.fixture(scope="module")
def fitted():
    player = SimpleNamespace(max_turns=TURNS, succeeded=lambda one: len(one.turns) < TURNS)
    return _fit(player, [draw(number) for number in range(160)])


def test_the_learned_detector_is_adopted_and_the_inverted_one_is_not(fitted):
    rules, _ = fitted
    figures = _rule_figures(rules)
    assert figures["learned/adopted"] == 1 and figures["inverted/adopted"] == 0
    assert figures["expected/learned"] < figures["expected/never"] <= figures["expected/inverted"]
    assert figures["expected/learned"] < figures["expected/coin"]
    assert figures["learned/true_alarm"] > figures["learned/break_even"]
    assert figures["success_turns"] == 4 and figures["failure_turns"] == TURNS


def test_alarms_agree_with_the_watched_confusion_matrix(fitted):
    rules, alarms = fitted
    for name, alarm in alarms.items():
        rung = []
        for number in range(80, 160):
            whole = draw(number)
            texts = [reply.content for reply in whole.replies]
            rung.append(any(alarm(attempt(number, texts[:k])) for k in range(1, len(texts))))
        lost = [not len(draw(number).turns) < TURNS for number in range(80, 160)]
        assert np.mean(np.array(rung)[lost]) == pytest.approx(rules[name].rates.true_alarm, abs=1e-9)
        assert np.mean(np.array(rung)[~np.array(lost)]) == pytest.approx(rules[name].rates.false_alarm, abs=1e-9)


def test_figures_of_a_place_by_hand():
    rates = AttemptRates(0.5, 30.0, 60.0, 15.0, 0.8, 0.1)  # E0 90, E1 58.33
    rules = {"learned": AbortRule(0.5, rates, expected_makespan(rates))}
    never = [AttemptCounts(100, 1, 2, 2, 0), AttemptCounts(80, 1, 2, 2, 0)]
    learned = [AttemptCounts(50, 1, 2, 2, 1), AttemptCounts(50, 1, 2, 2, 0)]
    found = _place_figures(rules, {"never": never, "learned": learned})
    assert found["never/turns"] == 90 and found["error/never"] == 0 and found["never/solved"] == 0.5
    assert found["learned"] == 2 and found["learned/interrupted"] == 0.25
    assert found["error/learned"] == pytest.approx((175 / 3 - 50) / (175 / 3), abs=1e-9)
    assert found["gain/learned"] == pytest.approx((1.0 + 0.75) / 2, abs=1e-9)
    assert found["gain/learned/low"] < found["gain/learned"] < found["gain/learned/high"]


def test_a_place_without_success_has_no_time():
    rates = AttemptRates(0.5, 30.0, 60.0, 15.0, 0.8, 1.0)
    rules = {name: AbortRule(0.5, rates, expected_makespan(rates)) for name in ("learned", "coin")}
    never = [AttemptCounts(100, 1, 2, 2, 0)] * 2
    none = [AttemptCounts(50, 0, 2, 2, 2)] * 2
    found = _place_figures(rules, {"never": never, "coin": none})
    assert found["coin/turns"] == inf and found["error/coin"] == inf and found["gain/coin"] == -1
