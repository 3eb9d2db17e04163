"""What agent_evolver does with tasks and tips of its own making."""

from dataclasses import replace

import pytest

pytest.importorskip("bm25s")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.core.records import Author, Sampling
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.run import run
from handaxe.papers.agent_evolver.from_experience import from_experience
from handaxe.training.loop.config import RunConfig
from handaxe.training.record.run_record import RunRecord

SMALL = ["--steps", "3", "--groups", "2", "--group-size", "4", "--held-out", "2", "--seed", "1", "--model", "tiny"]


def chosen(*words):
    return parse_train("agent_evolver", [*SMALL, *words], prog="handaxe train", also={"run": RunOptions})[0]


def method(*words):
    made = chosen(*words)
    return make_method(made, make_world(made))


def test_without_either_it_is_the_base_itself():
    base = method()
    assert from_experience(base) is base and base.tasks is None and base.stages == () and base.adjustments == ()
    assert "old_logp" not in base.annotate
    both = method("--tips", "1", "--explored", "4", "--taught", "2")
    assert len(both.stages) == 2 and "old_logp" in both.annotate and len(both.adjustments) == 1
    assert len(method("--explored", "4", "--taught", "2").stages) == 1


def test_a_run_with_tips_trains_on_attempts_without_them(tmp_path):
    made = chosen("--tips", "1")
    run(made, RunConfig(out=tmp_path, progress=False, recipe={"name": "agent_evolver", "arguments": made.arguments()}))
    hinted = []
    with RunRecord.open(tmp_path) as record:
        for group in record.groups():
            for k, one in enumerate(group.group):
                if one.notes["hint"]:
                    assert group.group.step > 0 and k < 2  # the first step has nothing to tell, the last none
                    hinted.append(one)
                    assert "Hints" not in str([message.content for message in one.messages])
                    assert set(one.sequences[0].author[one.sequences[0].mask]) <= {Author.FORCED}
                    assert one.task.metadata["tips"]
    assert hinted


def test_evaluations_are_never_told_a_tip():
    parts = build(chosen("--tips", "2"))
    tasks, seen = parts["tasks"], []

    def env(task):
        seen.append(task)
        return parts["env"](task)

    tasks._pool.tips = [type("Tip", (), {"asked": "boss ally heir idol", "text": "Do it."})()]
    (one,) = tasks.next(0, 1)
    assert one.metadata["tips"] == ["Do it."]
    replace(parts["evaluate"], env=env, sampling=Sampling(max_tokens=4))(parts["engine"], 0)
    assert len(seen) == 2
    for task in seen:
        assert "tips" not in task.metadata and all(message.name == "" for message in task.messages)


def test_what_does_not_fit():
    base = method()
    with pytest.raises(InputError, match="explored is -1"):
        from_experience(base, explored=-1)
    with pytest.raises(InputError, match="without a curriculum of its own"):
        from_experience(replace(base, tasks=lambda tasks, seed: None), tips=1)
    with pytest.raises(InputError, match="has no 'exploring'"):
        from_experience(replace(base, world=replace(base.world, exploring=None)), explored=4)
