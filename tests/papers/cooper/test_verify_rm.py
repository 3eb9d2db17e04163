import numpy as np
import pytest

from handaxe.core.records import Message, Task
from handaxe.models.load import load
from handaxe.papers.cooper.verify_rm import _Answers, _corrupted, _figures, _group

TASK = Task("t", (Message("user", "6 * 7"),), "42")


def test_the_head_reads_after_the_whole_message():
    format = load("tiny").format
    group = _group(format, _Answers(TASK, ["41", "42"], np.array([0.0, 1.0])), reference=True)
    for one, answer in zip(group, ("41", "42"), strict=True):
        (sequence,) = one.sequences
        read = one.turns[-1].stop - 1
        assert f"6 * 7\n42\n{answer}" in format.decode(sequence.ids[:read])


def test_only_correct_answers_are_corrupted_and_no_corruption_is_correct():
    found = _corrupted(_Answers(TASK, ["42", "9", "42"], np.array([1.0, 0.0, 1.0])))
    assert len(found.texts) == 2 and found.label_G.tolist() == [0.0, 0.0]
    for text in found.texts:
        assert len(text) == 2 and sum(a != b for a, b in zip(text, "42")) == 1
    assert _corrupted(_Answers(TASK, ["9"], np.array([0.0]))) is None


def test_figures_by_hand():
    """The model with the reference errs on a wrong answer of two tasks with two answers, the plain one on all wrong
    ones and on every corruption."""
    held_out = [_Answers(TASK, ["42", "41"], np.array([1.0, 0.0])), _Answers(TASK, ["40", "42"], np.array([0.0, 1.0]))]
    good = [[np.array([0.9, 0.6]), np.array([0.1, 0.8])], [np.array([0.2]), np.array([0.3])]]
    plain = [[np.array([0.9, 0.6]), np.array([0.7, 0.8])], [np.array([0.9]), np.array([0.9])]]
    found = _figures(held_out, {"reference": good, "plain": plain})
    assert (found["reference/accuracy"], found["plain/accuracy"], found["correct"]) == (0.75, 0.5, 0.5)
    assert (found["reference/accepted"], found["plain/accepted"]) == (1.0, 1.0)
    assert (found["reference/rejected"], found["plain/rejected"]) == (1.0, 0.0)
    assert found["gain/accuracy"] == pytest.approx(0.25) and found["gain/rejected"] == 1.0
