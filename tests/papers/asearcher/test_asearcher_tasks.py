"""The pipeline asearcher_tasks: real runs by rule, a scripted server that writes and answers, and refusals."""

import json
import re

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.papers.asearcher.asearcher_tasks import asearcher_tasks
from handaxe.papers.asearcher.direct_answers import answers_in_documents
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.task_drafts import draft_text
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.library.world import library

pytest.importorskip("bm25s")
WORLD = library()
CONTEXT = PipelineContext(WORLD, "", WORLD.env(WORLD.tools), WORLD.tasks("test", 50, 0))


def words(text):
    return re.sub(r"^(What is|Find) ", "", text).rstrip("?.")


def reasons(report):
    return {one["name"]: one["reasons"] for one in report.card["steps"]}


@pytest.mark.parametrize("blurs", [0, 1])
def test_questions_are_described_unique_and_not_known_by_heart(blurs, tmp_path):
    report = asearcher_tasks(CONTEXT, blurs=blurs, batch=96).run(out=tmp_path, count=30)
    assert len(report.drafts) == 30 and reasons(report)["closed_book"]["too many votes"] >= 10
    assert list(reasons(report)) == ["propose", "obscure", "solve", "closed_book", "dedupe", "decontaminate"]
    for one in report.drafts:
        text, answer = words(draft_text(one)), one.payload["answer"]
        assert " whose " in text and (" between " in text) == bool(blurs)
        assert answers_in_documents(text) == {answer} != answers_in_documents(text, known=0.7)
        assert one.notes["closed_book"]["share"] == 0.0 and one.payload["metadata"]["injections"] == 1


def test_without_known_facts_no_question_is_dropped_by_the_closed_book(tmp_path):
    report = asearcher_tasks(CONTEXT, known=0.0, batch=48).run(out=tmp_path, count=20)
    assert reasons(report)["closed_book"] == {}
    every = asearcher_tasks(CONTEXT, known=1.0, batch=48).run(out=tmp_path, count=20, most_rounds=1)
    assert not every.drafts and set(reasons(every)["closed_book"]) == {"too many votes"}


@pytest.mark.slow
def test_a_server_writes_questions_and_answers_directly(tmp_path):
    """The server keeps to the form for even lengths and else writes freely; it knows the regions of towns by heart."""

    def answer(body):
        text = body["messages"][-1]["content"]
        if "Write the question again" not in text:
            question = json.loads(text.splitlines()[1])
            return reply(next(iter(answers_in_documents(words(question)))) if "region of" in question else "unknown")
        fields = dict(line.split(": ", 1) for line in text.splitlines() if re.match("Question|Names|Desc", line))
        question, description = json.loads(fields["Question"]), json.loads(fields["Description"])
        name = next(one for one in json.loads(fields["Names"]).split(", ") if one in question)
        made = question.replace(name, description)
        return reply(json.dumps({"question": made if len(made) % 2 == 0 else f"Look: {description}!"}))

    with ChatServer(answer) as server:
        flags = [
            "--world",
            "library",
            "--proposer",
            f"{server.url}#m",
            "--count",
            "10",
            "--batch",
            "64",
            "--tests",
            "50",
        ]
        assert main(["synthesize", "asearcher_tasks", *flags, "--out", str(tmp_path), "--quiet"]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    found = {one["name"]: one["reasons"] for one in card["steps"]}
    assert found["obscure"]["uniqueness unknown"] >= 5 and found["closed_book"]["too many votes"] >= 1
    assert card["cost"]["proposer"]["asks"] >= 20 and card["cost"]["solver"]["asks"] % 4 == 0
    world = jsonl(file=str(tmp_path / "tasks.jsonl"), test_share=0.5)
    made = [*world.tasks("train", 50, 0), *world.tasks("test", 50, 0)]
    assert len(made) == 10 and not any("region of" in one.messages[0].content for one in made)


def test_a_text_of_another_form_is_no_question_about_the_library():
    for text in ("Who?", "kemi"):
        with pytest.raises(InputError, match="not a question about the library"):
            answers_in_documents(text)
    assert answers_in_documents("the river of nowhere") == set()


def test_wrong_arguments_are_refused():
    for wrong in ({"injections": 0}, {"blurs": -1}, {"known": 1.5}):
        with pytest.raises(InputError, match="--world library, injections from 1"):
            asearcher_tasks(CONTEXT, **wrong)
    other = arithmetic()
    with pytest.raises(InputError, match="not arithmetic"):
        asearcher_tasks(PipelineContext(other, "", other.env(()), [Task("t", (Message("user", "q"),), "a")]))
