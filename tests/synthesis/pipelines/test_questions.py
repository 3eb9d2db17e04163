"""The pipeline of questions, with the rule and with a scripted server."""

import json

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.cli import main
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.pipelines.questions import questions
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.jsonl import jsonl

WORLD = arithmetic()
ENV = WORLD.env(WORLD.tools)


def context(tests):
    return PipelineContext(WORLD, "", ENV, tests)


@pytest.mark.slow
def test_planted_test_tasks_are_refused(tmp_path):
    """The generator draws some of the test tasks, as a proposer that has seen them would."""
    drawn = questions(context(WORLD.tasks("test", 50, 0))).run(out=tmp_path / "a", count=20)
    planted = [draft.payload["messages"][0]["content"] for draft in drawn.drafts[:5]]
    tests = [one for one in WORLD.tasks("train", 4000, 1) if one.messages[0].content in planted]
    made = questions(context([*tests, *WORLD.tasks("test", 50, 0)])).run(out=tmp_path / "b", count=20)
    asked = {draft.payload["messages"][0]["content"] for draft in made.drafts}
    assert tests and not asked & {one.messages[0].content for one in tests} and len(made.drafts) == 20
    (step,) = [one for one in made.card["steps"] if one["name"] == "decontaminate"]
    assert step["reasons"]["a test task"] >= len({one.messages[0].content for one in tests})


def test_a_scripted_server_proposes(tmp_path, capsys):
    numbers = iter(range(10_000))

    def answer(body):
        n = next(numbers)
        right = n % 4 != 3
        row = {"question": f"{1000 + n}*2=?", "answer": str(2 * (1000 + n) + (not right))}
        return reply(
            json.dumps({**row, "calls": [{"name": "calculator", "arguments": {"expression": f"{1000 + n}*2"}}]})
        )

    with ChatServer(answer) as server:
        words = ["--proposer", f"{server.url}#m", "--count", "12", "--batch", "16", "--tests", "50", "--quiet"]
        assert main(["synthesize", "questions", *words, "--out", str(tmp_path)]) == 0
        asked = len(server.bodies)
        assert main(["synthesize", "questions", *words, "--out", str(tmp_path)]) == 0
        assert len(server.bodies) == asked == 16, "a second run asks nothing"
    shown = capsys.readouterr().out
    assert "4 another answer" in shown and "16 questions" in shown
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["cost"]["proposer"]["asks"] == 16 and card["tasks"] == 12
    world = jsonl(file=str(tmp_path / "tasks.jsonl"), test_share=0.5)
    read = [*world.tasks("train", 100, 0), *world.tasks("test", 100, 0)]
    assert len(read) == 12 and all(one.metadata["gold_calls"] for one in read)


@pytest.mark.parametrize("policy", [None, "tiny"])
def test_a_policy_adds_pass_rates(policy, tmp_path):
    words = [*(("--policy", policy, "--samples", "2", "--batch", "4") if policy else ()), "--tests", "20"]
    assert main(["synthesize", "questions", "--count", "3", *words, "--out", str(tmp_path), "--quiet"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert [("pass_rate" in row["synthesis"]) for row in rows] == [policy is not None] * 3
