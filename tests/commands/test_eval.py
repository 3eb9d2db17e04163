import json
import shutil

import pytest

from handaxe.cli import main
from handaxe.commands.run_outcome import read_outcome
from handaxe.evaluation.evaluation_result import Evaluation


def test_eval_uses_the_last_checkpoint(run, capsys):
    file = run.parent / "evaluation.json"
    assert main(["eval", str(run), "--tasks", "3", "--samples", "2", "--json", str(file)]) == 0
    body = json.loads(file.read_text())
    assert (body["method"], body["steps"], len(body["tasks"])) == ("otc", 2, 3)
    assert {"pass@1", "pass@2", "pass^2", "calls"} <= set(body["metrics"])
    assert all(task["attempts"] == 2 for task in body["tasks"])
    assert "pass@2" in capsys.readouterr().out


def test_eval_with_default_seed_equals_the_last_evaluation_of_the_run(run):
    file = run.parent / "evaluation.json"
    assert main(["eval", str(run), "--json", str(file)]) == 0
    again = Evaluation.from_json(file.read_text())
    after = read_outcome(run).after
    assert again.metrics["tokens"] == after.metrics["tokens"] and again.endings == after.endings


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--world", "arithmetic"]], ids=["of the method", "of a world"])
def test_a_device_replaces_that_of_the_run(run, capsys, words):
    assert main(["eval", str(run), *words, "--device", "gpu"]) == 2
    assert "device 'gpu' is unknown; give cpu, cuda or cuda:1" in capsys.readouterr().err


def test_run_without_a_checkpoint_is_an_error(run, capsys):
    shutil.rmtree(run / "checkpoints")
    assert main(["eval", str(run)]) == 2
    assert "no checkpoint" in capsys.readouterr().err


@pytest.fixture(scope="module")
def chat():
    from helpers import chat_server as module

    return module


def test_server_is_evaluated_on_the_same_tasks_and_needs_a_model(run, chat, capsys):
    file = run.parent / "served.json"
    with chat.ChatServer(chat.reply("7")) as server:
        words = ["eval", str(run), "--tasks", "3", "--server", server.url, "--server-model", "m", "--json", str(file)]
        assert main(words) == 0
        assert {body["model"] for body in server.bodies} == {"m"} and len(server.bodies) == 3
    body = json.loads(file.read_text())
    assert body["steps"] == 0 and set(body["endings"]) == {"completed"}
    assert "<m at http://127.0.0.1" in capsys.readouterr().out
    assert main(["eval", str(run), "--server", "http://127.0.0.1:9/v1"]) == 2
    assert "needs --server-model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "world, package, tool",
    [("hops --world.size 40", "bm25s", "search"), ("textworld --world.rooms 2 --world.games 8", "textworld", "do")],
)
def test_world_with_tools_is_played_by_a_policy_and_by_a_server(chat, tmp_path, monkeypatch, world, package, tool):
    """The server makes one call and then answers."""
    pytest.importorskip(package)
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "found.json"
    words = ["eval", "tiny", "--world", *world.split(), "--tasks", "2", "--max-turns", "2", "--max-tokens", "64"]
    assert main([*words, "--json", str(file)]) == 0
    assert len(json.loads(file.read_text())["tasks"]) == 2
    (argument,) = {"search": ["query"], "do": ["command"]}[tool]

    def replies(body):
        first = not any(message["role"] == "tool" for message in body["messages"])
        return chat.reply("", calls=[(tool, json.dumps({argument: "look"}))]) if first else chat.reply("7")

    with chat.ChatServer(replies) as server:
        assert main([*words, "--server", server.url, "--server-model", "m", "--json", str(file)]) == 0
        assert len(server.bodies) == 4 and {one["function"]["name"] for one in server.bodies[0]["tools"]} == {tool}
    found = json.loads(file.read_text())
    assert set(found["endings"]) == {"completed"} and all(one["calls"] == 1 for one in found["tasks"])
