"""The pipeline mua_users: real runs by rule, a scripted server, a file that the world reads, and refusals."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from helpers.chat_server import ChatServer, reply

pytest.importorskip("tau2")

from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.papers.mua_rl.mua_users import mua_users
from handaxe.synthesis.context import PipelineContext
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.tau2.orders import compose_scenario, order_side
from handaxe.worlds.tau2.world import tau2

OPTIONS = {"domain": "retail", "user": "requests", "brief": True}
WORLD = tau2(**OPTIONS)
CONTEXT = PipelineContext(WORLD, "", WORLD.env(WORLD.tools), WORLD.tasks("test", 40, 0))
FLAGS = ["--world", "tau2", "--world.domain", "retail", "--world.user", "requests", "--world.brief"]


def test_users_have_personas_and_goals_that_the_expert_reaches_again(tmp_path):
    report = mua_users(CONTEXT, batch=40).run(out=tmp_path, count=30)
    personas = Counter(one.payload["metadata"]["persona"] for one in report.drafts)
    assert set(personas) == {"plain", "easy", "hard"} and len(report.drafts) == 30
    world = tau2(**OPTIONS, file=str(tmp_path / "tasks.jsonl"))
    read = world.tasks("train", 100, 0)
    assert len(read) == 30 and world.tasks("test", 5, 0) == WORLD.tasks("test", 5, 0)
    assert world.tasks("train", 4, 0) == read[:4] and Counter(one.metadata["persona"] for one in read) == personas
    for task in read[:6]:
        rollout = world.make_rollout(world.start_turns)
        one = demonstrate(world.env(()), task, world.expert, format=Transcript(), seed=9, rollout=rollout)
        assert world.correct(Group(task, (one,))).outcome[0] == 1.0 and one.env["persona"] == task.metadata["persona"]


def test_a_server_writes_users_and_unknown_goals_are_dropped(tmp_path):
    """In turn: the example in another order, an order of a test customer, an unknown order, an order twice."""
    strange = compose_scenario("test", 0, 0).split("|")[0]
    numbers = iter(range(10_000))

    def answer(body):
        example = json.loads(body["messages"][-1]["content"].splitlines()[2].partition(": ")[2])
        goals = json.loads(example)
        order = goals[0].partition(" ")[0]
        kinds = (goals[::-1], [strange], ["#W1 status?"], [f"{order} no longer needed", f"{order} status?"])
        return reply(json.dumps({"persona": "hard", "goals": kinds[next(numbers) % 4]}))

    with ChatServer(answer) as server:
        words = ["--proposer", f"{server.url}#m", "--rounds", "1", "--batch", "24", "--tests", "40", "--quiet"]
        assert main(["synthesize", "mua_users", *FLAGS, *words, "--out", str(tmp_path)]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    (step,) = [one for one in card["steps"] if one["name"] == "simulate_user"]
    assert step["reasons"] == {"unknown goals": 18} and step["out"] == 6
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    orders = [goal.partition(" ")[0] for row in rows for goal in row["scenario"].split("|")]
    assert rows and {row["persona"] for row in rows} == {"hard"} and {order_side(one) for one in orders} == {"train"}


def test_users_that_balk_at_every_request_are_dropped_if_turns_are_few(tmp_path):
    few = replace(WORLD, start_turns=5)
    report = mua_users(CONTEXT._replace(world=few), personas=("hard",), tries=1, batch=24).run(out=tmp_path, count=8)
    (step,) = [one for one in report.card["steps"] if one["name"] == "simulate_user"]
    assert step["reasons"]["the expert does not reach the goals"] >= 3 and len(report.drafts) == 8
    assert all(one.notes["user"]["turns"] <= 5 for one in report.drafts)


def test_other_worlds_personas_and_files_are_refused(tmp_path):
    other = arithmetic()
    with pytest.raises(InputError, match="not arithmetic"):
        mua_users(PipelineContext(other, "", other.env(()), other.tasks("test", 5, 0)))
    with pytest.raises(InputError, match="angry"):
        mua_users(CONTEXT, personas=("angry",))
    (tmp_path / "tasks.jsonl").write_text("".join(f'{{"question": "{k}+1?", "answer": "2"}}\n' for k in range(20)))
    with pytest.raises(InputError, match="holds tasks of mua_users"):
        tau2(**OPTIONS, file=str(tmp_path / "tasks.jsonl"))
