import numpy as np
import pytest

from handaxe.core.records import Message, Scores, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.crome.style_figures import style_figures
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

TASK = Task("t", (Message("user", "3*4 ="),), "12")


def labelled(*texts):
    made = [trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", t)), task=TASK) for t in texts]
    return make_group(trajectories=made, task=TASK), Scores(np.array([float("12" in text) for text in texts]))


class LikesSentences:
    """Scores 1 for the answer 12, and 2 more for a sentence."""

    def score(self, group):
        return np.array([("12" in one.final_text) + 2.0 * one.final_text.startswith("Well") for one in group])


def test_figures_by_hand():
    """Scores 1, 0 without and 3, 2 in a sentence: a gap of 2 over a standard deviation of sqrt(1.25)."""
    plain, reversed_ = labelled("12", "15"), labelled("12", "Well, it is 15")
    found = style_figures(LikesSentences(), {"plain": [plain], "reversed": [reversed_]}, [plain], Compact())
    assert found["pair/plain/MODEL"] == 1 and found["pair/reversed/MODEL"] == 0 and found["best/random"] == 0.5
    assert found["gap/MODEL"] == pytest.approx(2 / np.sqrt(1.25), abs=1e-9)
