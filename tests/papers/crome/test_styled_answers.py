import numpy as np

from handaxe.core.records import Message, Scores, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.crome.styled_answers import STYLES, numeric_answers, styled_answers, task_preferences
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")


def labelled(*texts):
    made = [trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", t)), task=TASK) for t in texts]
    group = make_group(trajectories=made, task=TASK)
    return group, Scores(np.array([float(text == "12") for text in texts]))


def test_answers_that_are_no_number_are_left_out():
    group, scores = numeric_answers(labelled("12", "let me see", "15"))
    assert [one.final_text for one in group] == ["12", "15"] and scores.outcome.tolist() == [1, 0]


def test_the_style_goes_with_correctness_and_turns_round():
    given = [labelled("12", "15") for _ in range(60)]
    shares = {}
    for style in STYLES:
        found = [styled_answers([one], style, Compact(), seed)[0][0] for seed, one in enumerate(given)]
        shares[style] = [np.mean([own[i].final_text.startswith("Well") for own in found]) for i in (0, 1)]
    assert shares["plain"] == [0, 0]
    assert shares["aligned"][0] > 0.75 > 0.25 > shares["aligned"][1]
    assert shares["reversed"][1] > 0.75 > 0.25 > shares["reversed"][0]


def test_preferences_are_correct_over_wrong_answers():
    pairs = task_preferences([labelled("12", "15", "16", "12")], 3)
    assert [(pair.chosen.final_text, pair.rejected.final_text) for pair in pairs] == [("12", "15"), ("12", "16")] + [
        ("12", "15")
    ]
