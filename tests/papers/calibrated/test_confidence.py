import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.papers.calibrated.brier_confidence import brier_confidence
from handaxe.papers.calibrated.confidence import UNSTATED, confidence_channel, stated_confidence, strip_confidence
from handaxe.papers.calibrated.margin_confidence import margin_confidence
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.per_turn import per_turn
from handaxe.testing.make_records import make_group, make_task, make_trajectory

CORRECT = exact_match(extract=strip_confidence)

TEXTS = {
    "408 c7": (0.7, "408"),
    "408 c10": (1.0, "408"),
    "408\nc0 \n": (0.0, "408"),
    "c3": (0.3, ""),
    "408": (None, "408"),
    "408c7": (None, "408c7"),
    "408 c11": (None, "408 c11"),
    "408 c-1": (None, "408 c-1"),
    "408 c7 or so": (None, "408 c7 or so"),
    "408 c2 c9": (0.9, "408 c2"),
    "": (None, ""),
}


@pytest.mark.parametrize("text", TEXTS)
def test_stated_confidence_reads_the_last_word(text):
    one = make_trajectory(texts=["1 c1", text], calls=[["f"], []], replies=[["1"], []])
    assert (stated_confidence(one), strip_confidence(one)) == TEXTS[text]


def test_a_long_answer_is_read_and_no_turn_has_no_confidence():
    for text in ("408" + " " * 1_000_000 + "x", "c7 " * 300_000 + "x", "c" * 1_000_000):
        one = make_trajectory(texts=[text])
        assert stated_confidence(one) is None and strip_confidence(one) == text
    assert stated_confidence(make_trajectory(layouts=["UUt"])) is None


def test_confidence_channel_stores_the_confidence():
    group = make_group(trajectories=[make_trajectory(texts=[text]) for text in ("4 c5", "4")])
    assert confidence_channel(stated_confidence)(group).outcome.tolist() == [0.5, UNSTATED]
    for odd in (-0.1, 1.1, float("nan"), UNSTATED):
        with pytest.raises(VerifierError, match="not between 0 and 1"):
            confidence_channel(lambda trajectory, odd=odd: odd)(group)


@pytest.mark.parametrize("made", [brier_confidence, margin_confidence])
class TestEveryRewardOfConfidence:
    def scored(self, reward, *texts):
        task = make_task(answer="4")
        members = [make_trajectory(texts=[text], task=task) for text in texts]
        return reward(make_group(task=task, trajectories=members))

    def test_the_best_confidence_is_the_accuracy(self, made):
        marks = [f"c{k}" for k in range(11)]
        right, wrong = (
            self.scored(made(correct=CORRECT), *(f"{said} {mark}" for mark in marks)).outcome for said in ("4", "5")
        )
        for tenth in range(11):
            assert np.argmax(tenth / 10 * right + (1 - tenth / 10) * wrong) == tenth

    def test_a_missing_confidence_scores_lowest(self, made):
        scores = self.scored(made(correct=CORRECT), "4", "5", "5 c10", "", "4 c0")
        assert set(scores.outcome[:4]) == {scores.outcome.min()} and scores.outcome[4] > scores.outcome[0]
        assert scores.channels["confidence"].tolist() == [UNSTATED, UNSTATED, 1, UNSTATED, 0]

    def test_a_confidence_outside_0_to_1_raises(self, made):
        with pytest.raises(InputError, match="per-turn"):
            self.scored(made(correct=per_turn(lambda one: [1.0] * len(one.turns))), "4 c1")
        with pytest.raises(VerifierError, match="not between 0 and 1"):
            self.scored(made(correct=CORRECT, confidence=lambda one: 2.0), "4")
