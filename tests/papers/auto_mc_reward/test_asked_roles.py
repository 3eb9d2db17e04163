import pytest
from helpers.answerers import Says

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError
from handaxe.papers.auto_mc_reward.asked_roles import asked_analyser, asked_objection, read_sentences
from handaxe.testing.make_records import make_trajectory


class Writes(Says):
    """Answers every question with a text, or with a failure."""

    def __init__(self, text, failure=""):
        super().__init__({})
        self.text, self.failure = text, failure

    def _of(self, ask):
        return AskAnswer(by=self.by, text=self.text, failure=self.failure)


def desk(text, failure=""):
    return AskDesk(Writes(text, failure))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("Fine.", ""), ("fine, it pays for keys", ""), ("It pays\nfor waiting.", "It pays for waiting."), ("", "")],
)
def test_an_objection_is_any_answer_but_fine(answer, expected):
    asked = desk(answer)
    assert asked_objection(asked, goal="doors")("x = 1") == expected
    assert dict(asked.answerer.asked[0].fields) == {"goal": "doors", "program": "x = 1"}


def test_the_analyser_reads_the_last_messages_of_failed_rollouts_alone():
    good, bad = make_trajectory(texts=["won"], sample=0), make_trajectory(texts=["a", "b", "lost"], sample=1)
    asked = desk("It waits.\n\nPay for keys.")
    analyse = asked_analyser(asked, goal="doors", messages=2)
    assert analyse([(good, 1.0), (bad, 0.0)]) == "It waits. Pay for keys."
    shown = asked.answerer.asked[0].fields["rollouts"]
    assert "lost" in shown and "won" not in shown and len(shown.splitlines()) == 2
    assert analyse([(good, 1.0)]) == "" and len(asked.answerer.asked) == 1


def test_at_most_three_failed_rollouts_are_shown():
    rollouts = [(make_trajectory(texts=[f"end{k}"], sample=k), 0.0) for k in range(5)]
    asked = desk("Why.")
    asked_analyser(asked, goal="doors", messages=1)(rollouts)
    shown = asked.answerer.asked[0].fields["rollouts"]
    assert [k for k in range(5) if f"end{k}" in shown] == [2, 3, 4]


def test_an_absent_model_ends_the_search():
    with pytest.raises(InputError, match=r"the critic does not answer \(unavailable\): start the server"):
        asked_objection(desk("", "unavailable"), goal="doors")("x")
    with pytest.raises(InputError, match=r"the analyser does not answer \(budget\)"):
        asked_analyser(desk("", "budget"), goal="doors")([(make_trajectory(texts=["a"]), 0.0)])
    assert asked_objection(desk("x", "too_long"), goal="doors")("x") == ""


def test_read_sentences_matches_its_example():
    assert read_sentences(AskAnswer(text="It waits.\n\nPay for keys.", by="m")) == "It waits. Pay for keys."
    assert len(read_sentences(AskAnswer(text="word " * 500, by="m"))) == 600
    with pytest.raises(Unreadable):
        read_sentences(AskAnswer(text=" \n", by="m"))
