import numpy as np
import pytest
from helpers.answerers import Says

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import VerifierError
from handaxe.core.records import Message, Task
from handaxe.credit.group_norm import group_norm
from handaxe.papers.urpo.self_referee import self_referee
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory

TASK = Task("t", (Message("user", "hi 1st"),))
TEXTS = ["41", "33", "32", "25"]
SIBLINGS = make_group(task=TASK, trajectories=[make_trajectory(texts=[text], task=TASK) for text in TEXTS])
LAB = "asks the policy, which the attacks do not have; `handaxe judge attack urpo` attacks it"


class Replies(Says):
    """Answers with texts in turn."""

    def __init__(self, *texts):
        super().__init__({})
        self.texts = list(texts)

    def _of(self, ask):
        text = self.texts.pop(0)
        return AskAnswer(text=text, by=self.by, failure="" if text else "unavailable")


def referee(desk):
    return self_referee(desk=desk, rule=outcome(lambda one: float(one.final_text == "33")))


CONTRACT = []
"""It asks a desk; see below."""


def test_the_worked_example():
    """Scores 4, 3, 3, 2 in the ratio of 8, 6, 6, 4: mean 3, standard deviation 0.7071."""
    answerer = Replies("a4 b3 c3 d2")
    scores = referee(AskDesk(answerer))(SIBLINGS)
    np.testing.assert_allclose(scores.outcome, [0.75, 0.5, 0.5, 0.25], atol=1e-12)
    credit = group_norm(std="population")(SIBLINGS, scores)
    found = [float(one[0][-1]) for one in credit.tokens]
    np.testing.assert_allclose(found, [2**0.5, 0, 0, -(2**0.5)], atol=1e-4)
    (ask,) = answerer.asked
    assert ask.fields == {"task": "hi 1st", "answers": 'a"41"\nb"33"\nc"32"\nd"25"'}
    assert ask.sampling.temperature == 0 and ask.prompt.id == "urpo/referee.terse"


def test_an_unreadable_reply_is_asked_again():
    scores = referee(AskDesk(Replies("a4 b3", "a5 b5 c1 d1")))(SIBLINGS)
    assert scores.outcome.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("texts", [("a4", "a4"), ("",)])
def test_a_group_without_scores_is_not_scored(texts):
    with pytest.raises(VerifierError, match="the referee scored no answer") as caught:
        referee(AskDesk(Replies(*texts)))(SIBLINGS)
    assert caught.value.trajectory == ""


def test_without_a_desk_the_rule_gives_the_rewards():
    assert referee(None)(SIBLINGS).outcome.tolist() == [0, 1, 0, 0]
