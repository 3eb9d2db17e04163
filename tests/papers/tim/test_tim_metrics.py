"""Figures by hand, and the study with the packaged policy in place of the cold-start checkpoint."""

import pytest
from helpers.explained import explained

import handaxe.papers.tim.tim_metrics as study
from handaxe.models.load import load
from handaxe.papers.tim.reasoning_judge import hidden_answers, line_count

FULL = "4+7=11,11+3=14,14+5=19,19+1=20:20"


def test_figures_by_hand():
    """With tools: a full text, and half a text after two calls. Bare: a full text with a false line, and a full one."""
    arms = {
        "tools": [explained(FULL), explained("4+7=11,19+1=20:20", calls=2, sample=1)],
        "bare": [explained(FULL.replace("=19", "=18")), explained(FULL, sample=1)],
    }
    found = study.reasoning_figures(arms, {"tools": [1.0, 1.0], "bare": [0.0, 1.0]}, judge=line_count())
    wanted = {
        "accuracy/tools": 1.0,
        "accuracy/bare": 0.5,
        "miss_rate/tools": 0.25,
        "miss_rate/bare": 0.125,
        "step_accuracy/tools": 1.0,
        "step_accuracy/bare": 0.875,
        "gain": 0.5,
        "miss_gap": 0.125,
        "win_rate": 0.5,
        "more_calls": 0.5,
    }
    assert found == pytest.approx(wanted, abs=1e-6)


def test_a_mean_of_nothing_is_not_a_number():
    arms = {"tools": [explained("20")], "bare": [explained("20")]}
    found = study.reasoning_figures(arms, {"tools": [1.0], "bare": [1.0]}, judge=hidden_answers(judge=line_count()))
    assert found["step_accuracy/tools"] != found["step_accuracy/tools"] and found["win_rate"] == 0.5


def test_the_study_plays_the_same_questions_in_both_arms(monkeypatch):
    monkeypatch.setattr(study, "start_policy", lambda world: load("tiny"))
    figures = study.tim_metrics(tasks=3, seeds=1, max_tokens=8)(5)
    names = {name.removesuffix("/low").removesuffix("/high") for name in figures}
    assert {"accuracy/tools", "accuracy/bare", "win_rate", "miss_gap", "more_calls"} <= names
    assert 0 <= figures["miss_rate/bare"] <= 1
