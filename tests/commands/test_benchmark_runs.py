"""`handaxe eval --benchmark`: tables of a local policy, a scripted chat server and a served policy."""

import json

import pytest

from handaxe.cli import main
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load

pytest.importorskip("bfcl_eval")


@pytest.fixture(scope="module")
def chat():
    from helpers import chat_server as module

    return module


OWN = '''"""A benchmark of a user."""
from functools import partial

from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkTable, BenchmarkPart
from handaxe.evaluation.benchmarks.metatool import selection_world


def table(results):
    tasks = results["long"].tasks
    rows = (("long", float(sum(one.correct for one in tasks)), float(len(tasks))),)
    return BenchmarkTable(("part", "correct", "tasks"), rows, ("My note.",))


def own():
    long = BenchmarkPart("long", partial(selection_world, ("live_irrelevance",)), 5)
    return Benchmark(name="own", parts=(long,), table=table, max_tokens=96, room=96)
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A benchmark of five questions without a fitting function, in a file of a user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_benchmark.py").write_text(OWN)
    monkeypatch.setenv("COLUMNS", "80")
    return "my_benchmark:own"


def test_table_of_a_local_policy(own, capsys, tmp_path):
    assert main(["eval", "tiny", "--benchmark", own, "--tasks", "2", "--samples", "2", "--json", "found.json"]) == 0
    shown = capsys.readouterr().out
    assert "own: 2 of 5 held-out tasks, 2 trials each" in shown and "My note." in shown
    assert max(map(len, shown.splitlines())) <= 80
    body = json.loads((tmp_path / "found.json").read_text())
    assert body["benchmark"] == "own" and body["settings"]["trials"] == 2 and body["settings"]["max_tokens"] == 96
    assert body["table"][0]["tasks"] == 2 and len(body["parts"]["long"]["tasks"]) == 2


def test_table_of_a_chat_server(own, chat, capsys, tmp_path):
    """An answer scores 1. A question that the server refuses as too long has no score, and a cut thought has one."""
    refused = (400, {"error": {"message": "This model's maximum context length is 64 tokens."}})
    cut = chat.reply("", finish="length", usage=(10, 8))
    words = ["--benchmark", own, "--tasks", "3", "--json", "found.json"]
    with chat.ChatServer(chat.reply("I cannot do this."), refused, cut) as server:
        assert main(["eval", f"{server.url}#m", *words]) == 0
        assert len(server.bodies) == 3 and {body["temperature"] for body in server.bodies} == {0.0}
        assert {body["model"] for body in server.bodies} == {"m"}
    part = json.loads((tmp_path / "found.json").read_text())["parts"]["long"]
    assert part["context"] == 1
    assert sorted((one["scored"], one["correct"]) for one in part["tasks"]) == [(0, 0), (1, 0), (1, 1)]
    assert sorted(one["cost"] for one in part["tasks"]) == [0.0, 18.0, 30.0]


def test_server_without_an_answer_is_an_error(own, chat, capsys):
    with chat.ChatServer((401, {"error": {"message": "no such key"}})) as server:
        assert main(["eval", f"{server.url}#m", "--benchmark", own, "--tasks", "1"]) == 2
    assert "no such key" in capsys.readouterr().err


def test_served_policy_has_the_figures_of_the_local_one(own, tmp_path):
    """A real chat server of the library, with the tiny policy behind it; greedy turns are equal."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    from helpers.chat_app import serving

    policy = load("tiny")
    with serving(LocalEngine(policy.model), policy.format) as port:
        words = ["--benchmark", own, "--tasks", "5", "--json"]
        assert main(["eval", f"http://127.0.0.1:{port}/v1#tiny", *words, "served.json"]) == 0
    assert main(["eval", "tiny", *words, "local.json"]) == 0
    served, local = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("served", "local"))
    parts = [one["parts"]["long"] for one in (served, local)]
    tasks = [
        [(one["id"], one["scored"], one["correct"], one["calls"], one["gauges"]) for one in part["tasks"]]
        for part in parts
    ]
    assert tasks[0] == tasks[1] and served["table"] == local["table"]
