from dataclasses import replace

import pytest
from helpers.methods import made

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Author, Sampling
from handaxe.methods.build import build
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

pytest.importorskip("bm25s")
SHORT = ["--sft-steps", "2"]
TRAINS_FORCED = True
REMEMBERS = "tips from earlier rollouts"
RESUMED = ["--tips", "2", "--sft-steps", "1"]
SMALL = ["--steps", "3", "--groups", "2", "--group-size", "4", "--held-out", "2", "--seed", "1", "--model", "tiny"]


def chosen(*words):
    small = [*SMALL, "--sft-steps", "0", *words]
    return parse_train("agent_evolver_tips", small, prog="handaxe train", also={"run": RunOptions})[0]


def test_hinted_tokens_train_at_measured_log_probs_under_a_wider_clip():
    method = made("agent_evolver_tips", "--sft-steps", "2")
    assert len(method.stages) == 1 and "old_logp" in method.annotate and len(method.adjustments) == 1


@pytest.mark.slow
def test_a_run_trains_on_rollouts_without_their_tips(tmp_path):
    spec = chosen()
    recipe = {"name": "agent_evolver_tips", "arguments": spec.arguments()}
    run(spec, RunConfig(out=tmp_path, progress=False, recipe=recipe))
    hinted = []
    with RunRecord.open(tmp_path) as record:
        for group in record.groups():
            for k, one in enumerate(group.group):
                if one.notes["hint"]:
                    assert group.group.step > 0 and k < 2  # the first step has no tips; the last siblings read none
                    hinted.append(one)
                    assert "Hints" not in str([message.content for message in one.messages])
                    assert set(one.sequences[0].author[one.sequences[0].mask]) <= {Author.FORCED}
                    assert one.task.metadata["tips"]
    assert hinted


def test_evaluations_have_no_tips():
    parts = build(chosen("--tips", "2"))
    tasks, seen = parts["tasks"], []

    def env(task):
        seen.append(task)
        return parts["env"](task)

    tasks._pool.tips = [type("Tip", (), {"asked": "boss ally heir idol", "text": "Do it."})()]
    (one,) = tasks.next(0, 1)
    assert one.metadata["tips"] == ["Do it."]
    replace(parts["run"].evaluation.evaluate, env=env, sampling=Sampling(max_tokens=4))(parts["engine"], 0)
    assert len(seen) == 2
    for task in seen:
        assert "tips" not in task.metadata and all(message.name == "" for message in task.messages)
