import json

import pytest
from helpers.answerers import Says

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.curricula.advice import Failure
from handaxe.papers.inspo.reflection import read_instruction, reflection, shown_rollout
from handaxe.testing.make_records import make_task, make_trajectory

FAILURES = [Failure("i0", f"t{k}", "15", 0.0, ("wrong",), f"user: {k}*7?\nassistant: 15") for k in range(5)]


class Replies(Says):
    """Answers each question by a function of its fields; `failure` is the reason of a missing answer."""

    def __init__(self, reply, *, terse=False, failure=""):
        super().__init__({})
        self.reply, self.terse, self.failure = reply, terse, failure

    def _of(self, ask):
        return AskAnswer("" if self.failure else self.reply(ask.fields), by=self.by, failure=self.failure)


def rule(text, failures, seed):
    return [f"{text} by the rule"]


def asked_with(answerer, failures=FAILURES, **arguments):
    return reflection(desk=AskDesk(answerer), rule=rule, **arguments)("Think.", failures, 3)


def test_an_answer_becomes_a_candidate():
    answerer = Replies(lambda fields: 'It guessed. {"instruction": "Use a  tool."}')
    assert asked_with(answerer, candidates=1) == ["Use a tool."]
    (ask,) = answerer.asked
    assert ask.prompt.name == "inspo/reflect@1" and ask.role == "reflector" and ask.fields["instruction"] == "Think."
    assert ask.fields["failures"].count("assistant: 15") == 3


def test_candidates_equal_a_slow_loop_over_the_questions():
    def reply(fields):
        return json.dumps({"instruction": f"{fields['instruction']} Not {fields['failures'][6]}."})

    answerer = Replies(reply)
    found, wanted = asked_with(answerer, candidates=4, shown=1), []
    for ask in answerer.asked:
        text = json.loads(reply(ask.fields))["instruction"]
        wanted += [] if text in wanted else [text]
    assert found == wanted and len(found) > 1
    assert found == asked_with(Replies(reply), candidates=4, shown=1)


def test_a_model_with_a_short_context_reads_one_failure_and_the_terse_prompt():
    answerer = Replies(lambda fields: '{"instruction": "Use a tool."}', terse=True)
    asked_with(answerer)
    assert {ask.prompt.id for ask in answerer.asked} == {"inspo/reflect.terse"}
    assert all(ask.fields["failures"].count("user:") == 1 for ask in answerer.asked)


def test_the_rule_answers_without_a_desk_and_never_for_a_model():
    assert reflection(desk=None, rule=rule) is rule
    assert asked_with(Replies(lambda fields: "Use a tool.")) == []
    assert asked_with(Replies(lambda fields: "", failure="refused")) == []
    assert asked_with(Replies(lambda fields: '{"instruction": "x"}'), failures=[]) == []


@pytest.mark.parametrize("failure", ["unavailable", "budget"])
def test_a_model_that_is_away_ends_the_run(failure):
    with pytest.raises(InfrastructureError, match=failure):
        asked_with(Replies(lambda fields: "", failure=failure))


def test_read_instruction_refuses_empty_long_and_other_texts():
    read = read_instruction(longest=8)
    assert read(AskAnswer('{"instruction": "x"} no: {"instruction": "1234567x"}')) == "1234567x"
    for text in (
        '{"instruction": " "}',
        '{"instruction": "..."}',
        '{"instruction": "12345678x"}',
        '{"instruction": 3}',
        "Use a tool.",
    ):
        with pytest.raises(Unreadable):
            read(AskAnswer(text))


def test_a_shown_rollout_has_question_turns_and_no_answer_of_the_task():
    task = make_task(question="2*7?", answer="14")
    assert shown_rollout(make_trajectory(task=task, texts=["15"])) == "user: 2*7?\nassistant: 15"


def test_numbers_below_one_are_refused():
    for wrong in ({"candidates": 0}, {"shown": 0}, {"longest": 0}):
        with pytest.raises(InputError, match="1 or more"):
            reflection(desk=None, rule=rule, **wrong)
