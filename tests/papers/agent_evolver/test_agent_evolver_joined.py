import json

import pytest
from helpers.chat_server import ChatServer, reply
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.curricula.tip_pool import TippedTasks
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord
from handaxe.training.stages.run_stages import stage_metrics

pytest.importorskip("bm25s")
SHORT = ["--explorations", "4", "--sft-steps", "2"]
TRAINS_FORCED = True
REMEMBERS = "proposed tasks, and tips from earlier rollouts"
RESUMED = ["--explorations", "16", "--sft-steps", "1"]
SMALL = ["--steps", "3", "--groups", "2", "--group-size", "4", "--held-out", "2", "--model", "tiny", "--seed", "1"]


def names(method):
    return [stage.__qualname__.split(".")[0] for stage in method.stages]


def test_exploration_comes_before_the_tips_and_fills_their_tasks():
    method = made("agent_evolver_joined", *SHORT)
    assert names(method) == ["explore", "teach_expert"]
    assert isinstance(method.tasks(method.world.tasks("train", 2, 0), 0), TippedTasks)
    asked = made("agent_evolver_joined", "--writer", "self", "--proposer", "self@start")
    assert names(asked) == ["explore", "bind_role", "teach_expert"]


def propose(fact, answer):
    calls = [{"name": "search", "arguments": {"query": fact}}]
    return reply(json.dumps({"question": f"{fact}?", "answer": answer, "calls": calls}))


@pytest.mark.slow
def test_a_run_trains_on_tasks_and_tips_of_a_server(tmp_path):
    """Facts of two training people; the last proposal is false, and its replay drops it."""
    proposals = iter([propose("2320 ally", "1535"), propose("8673 idol", "7063"), propose("7063 boss", "0000")])
    tip = "Search the first two words."

    def answer(body):
        return next(proposals) if "explored the environment" in str(body["messages"]) else reply(tip)

    with ChatServer(answer) as server:
        source = f"{server.url}#m"
        words = ["--explorations", "3", "--sft-steps", "0", "--proposer", source, "--writer", source, *SMALL]
        spec = parse_train("agent_evolver_joined", words, prog="handaxe train", also={"run": RunOptions})[0]
        recipe = {"name": "agent_evolver_joined", "arguments": spec.arguments()}
        run(spec, RunConfig(out=tmp_path, progress=False, recipe=recipe))
    (row,) = stage_metrics(tmp_path)["explore"]
    assert (row["proposed"], row["failed"], row["tasks"], row["unread"]) == (3, 1, 2, 0)
    with RunRecord.open(tmp_path) as record:
        groups = list(record.groups())
    asked = {one.group.task.messages[-1].content for one in groups}
    assert asked == {"2320 ally?", "8673 idol?"}
    hinted = [one for group in groups for one in group.group if one.notes["hint"]]
    assert hinted and {text for one in hinted for text in one.task.metadata["tips"]} == {tip}
