import numpy as np
import pytest

from handaxe.core.records import Message, Scores, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.crome import MODELS, STYLES, _figures, _numeric, _preferences, _styled, crome
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")


def labelled(*texts):
    made = [trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", t)), task=TASK) for t in texts]
    group = make_group(trajectories=made, task=TASK)
    return group, Scores(np.array([float(text == "12") for text in texts]))


def test_answers_that_are_no_number_are_left_out():
    group, scores = _numeric(labelled("12", "let me see", "15"))
    assert [one.final_text for one in group] == ["12", "15"] and scores.outcome.tolist() == [1, 0]


def test_the_style_goes_with_correctness_and_turns_round():
    given = [labelled("12", "15") for _ in range(60)]
    shares = {}
    for style in STYLES:
        found = [_styled([one], style, Compact(), seed)[0][0] for seed, one in enumerate(given)]
        shares[style] = [np.mean([own[i].final_text.startswith("Well") for own in found]) for i in (0, 1)]
    assert shares["plain"] == [0, 0]
    assert shares["aligned"][0] > 0.75 > 0.25 > shares["aligned"][1]
    assert shares["reversed"][1] > 0.75 > 0.25 > shares["reversed"][0]


def test_preferences_are_correct_over_wrong_answers():
    pairs = _preferences([labelled("12", "15", "16", "12")], 3)
    assert [(pair.chosen.final_text, pair.rejected.final_text) for pair in pairs] == [("12", "15"), ("12", "16")] + [
        ("12", "15")
    ]


def test_gains_are_differences_of_equal_seeds():
    columns = {f"pair/{style}/{name}": [0.5, 0.6] for style in STYLES for name in MODELS}
    columns |= {f"gap/{name}": [1.0, -1.0] for name in MODELS} | {"pair/reversed/crome": [0.8, 0.9]}
    columns["gap/crome"] = [0.25, 0.25]
    found = _figures(columns)
    assert found["gain/reversed/vanilla"] == pytest.approx(0.3, abs=1e-9)
    assert found["gap_fall"] == pytest.approx(0.75, abs=1e-9)


def test_every_model_is_measured_in_every_style():
    found = crome(seeds=1, tasks=4, samples=5, held_out=5, presented=20)(2)
    for style in STYLES:
        for name in MODELS:
            assert f"pair/{style}/{name}" in found
    assert found["pairs/preferences"] > 0
