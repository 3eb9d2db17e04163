"""A model proposes tasks: every answer of a chat server, the seeds of questions, and the records."""

import json
import re

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.ask_tasks import ask_tasks
from handaxe.worlds.arithmetic import arithmetic

EXAMPLES = arithmetic().tasks("train", 8, 0)
CALL = {"name": "calculator", "arguments": {"expression": "12*34"}}
GOOD = {"question": "12*34=?", "answer": "408", "calls": [CALL]}


def propose(*answers, seeds=1, **options):
    with ChatServer(*answers) as server:
        chat = Transcript()
        engine = OpenAICompatible(server.url, model="m", format=chat, attempts=1, timeout=5.0)
        desk = AskDesk(PolicyAnswerer(engine, chat, name="served"))
        step = ask_tasks(desk, examples=EXAMPLES, tools="calculator(expression)", **options)
        drafts = [make_draft("seed", {"number": n}) for n in range(seeds)]
        outcomes = step.run(drafts, SynthesisContext(0))
        engine.close()
    return outcomes, server.bodies, step


def test_an_answer_becomes_a_task_with_prompt_and_tokens():
    (outcome,), (body,), step = propose(reply(f"Sure: {json.dumps(GOOD)}"))
    (draft,) = outcome.kept
    assert draft.payload["messages"] == [{"role": "user", "content": "12*34=?"}]
    assert (draft.payload["answer"], draft.payload["calls"]) == ("408", [CALL])
    (asked,) = outcome.asked
    assert (asked["prompt"], asked["failure"]) == ("propose@1", "") and min(asked["read"], asked["written"]) > 100
    assert asked["by"].startswith("served") and step.settings["prompt"].startswith("propose@1 ")
    text = body["messages"][-1]["content"]
    shown = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert len(shown) == 3 and all(one["question"] in {task.messages[0].content for task in EXAMPLES} for one in shown)
    assert "calculator(expression)" in text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply("I cannot."), "no answer: unreadable"),
        (reply(json.dumps(GOOD)[:-9]), "no answer: unreadable"),
        (reply(json.dumps({**GOOD, "answer": 408})), "no answer: unreadable"),
        (reply(""), "no answer: refused"),
        (reply(json.dumps({**GOOD, "question": " "})), "empty question or answer"),
        (reply(json.dumps({**GOOD, "calls": ["calculator"]})), "calls of another form"),
        (reply(json.dumps({**GOOD, "calls": [{"name": "calculator", "arguments": "12*34"}]})), "calls of another form"),
    ],
)
def test_another_answer_drops_the_seed_and_is_counted(answer, reason):
    outcomes, _, _ = propose(answer)
    assert [one.reason for one in outcomes] == [reason] and outcomes[0].asked


def test_each_seed_has_another_question_and_a_retry():
    _, bodies, _ = propose(reply("no"), seeds=3)
    assert len({json.dumps(body["messages"]) for body in bodies}) == 3 and len(bodies) == 6


def test_a_server_that_is_away_stops_the_run_and_drops_nothing():
    with pytest.raises(InputError, match="2 of 2 questions .* the server is away"):
        propose((500, {}), seeds=2)


def test_a_spent_budget_stops_the_run_and_drops_nothing():
    class Spent:
        terse = False

        def fingerprint(self):
            return "spent"

        def answer(self, asks):
            return [AskAnswer(failure="budget")] * len(asks)

    step = ask_tasks(AskDesk(Spent()), examples=EXAMPLES, tools="")
    with pytest.raises(InputError, match="1 of 1 questions .* a larger --budget"):
        step.run([make_draft("seed", {"number": 0})], SynthesisContext(0))


def test_a_question_holds_no_test_task():
    _, bodies, _ = propose(reply("no"), seeds=8)
    tests = {one.messages[0].content for one in arithmetic().tasks("test", 100, 0)}
    texts = {text for body in bodies for text in re.findall(r'"question": "(.*?)"', body["messages"][-1]["content"])}
    assert texts and not texts & tests


def test_more_examples_than_there_are_is_refused():
    with pytest.raises(InputError, match="shown 9 examples"):
        propose(reply("no"), shown=9)
