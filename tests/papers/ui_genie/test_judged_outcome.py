from dataclasses import replace

import numpy as np
import pytest

from handaxe.judges.step_status import step_status
from handaxe.papers.ui_genie.judged_beam import KEPT
from handaxe.papers.ui_genie.judged_outcome import judged_outcome
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CONTRACT = [{"judge": step_status()}]
LAB = "scores by the metadata of the task, or passes another reward on; see the methods"


class Says:
    """A judge with these scores."""

    def __init__(self, *scores):
        self.scores = scores

    def score_steps(self, group):
        return tuple(np.array(own) for own in self.scores)


def rewarded(scores, notes):
    task = make_task()
    made = [
        replace(make_trajectory(texts=["a"] * max(1, len(own)), task=task), notes=one)
        for own, one in zip(scores, notes)
    ]
    return judged_outcome(judge=Says(*scores))(make_group(task=task, trajectories=made)).outcome.tolist()


def test_the_lowest_step_score_counts():
    assert rewarded([[0.8, -0.2], [1.0], []], [{}, {}, {}]) == pytest.approx([0.4, 1.0, 0.0])


def test_only_the_last_beam_counts():
    assert rewarded([[0.8], [0.8]], [{KEPT: True}, {KEPT: False}]) == pytest.approx([0.9, 0.0])
