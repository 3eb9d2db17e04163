import importlib.util
import json
import shutil
from pathlib import Path

from handaxe.cli import main
from handaxe.commands.report import read_outcome
from handaxe.evaluation.result import Evaluation


def test_the_last_checkpoint_is_evaluated(run, capsys):
    file = run.parent / "evaluation.json"
    assert main(["eval", str(run), "--tasks", "3", "--samples", "2", "--json", str(file)]) == 0
    body = json.loads(file.read_text())
    assert (body["recipe"], body["steps"], len(body["tasks"])) == ("otc", 2, 3)
    assert {"pass@1", "pass@2", "pass^2", "calls"} <= set(body["metrics"])
    assert all(task["attempts"] == 2 for task in body["tasks"])
    assert "pass@2" in capsys.readouterr().out


def test_with_the_runs_own_seed_it_is_the_runs_own_evaluation(run):
    file = run.parent / "evaluation.json"
    assert main(["eval", str(run), "--json", str(file)]) == 0
    again = Evaluation.from_json(file.read_text())
    after = read_outcome(run).after
    assert again.metrics["tokens"] == after.metrics["tokens"] and again.endings == after.endings


def test_without_a_checkpoint_there_is_nothing_to_evaluate(run, capsys):
    shutil.rmtree(run / "checkpoints")
    assert main(["eval", str(run)]) == 2
    assert "no checkpoint" in capsys.readouterr().err


def test_a_server_is_evaluated_on_the_same_tasks(run, capsys):
    """With a server that says the same whatever it is asked, and one that nobody told the name of a model."""
    spec = importlib.util.spec_from_file_location("chat_server", Path(__file__).parents[1] / "engines/chat_server.py")
    chat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(chat)
    file = run.parent / "served.json"
    with chat.ChatServer(chat.said("7")) as server:
        words = ["eval", str(run), "--tasks", "3", "--server", server.url, "--server-model", "m", "--json", str(file)]
        assert main(words) == 0
        assert {body["model"] for body in server.bodies} == {"m"} and len(server.bodies) == 3
    body = json.loads(file.read_text())
    assert body["steps"] == 0 and set(body["endings"]) == {"completed"}
    assert "<m at http://127.0.0.1" in capsys.readouterr().out
    assert main(["eval", str(run), "--server", "http://127.0.0.1:9/v1"]) == 2
    assert "needs --server-model" in capsys.readouterr().err
