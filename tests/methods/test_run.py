from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

import handaxe.training.sft.supervised as supervised
from handaxe.core.errors import InputError
from handaxe.methods.run import run
from handaxe.methods.run_spec import run_template
from handaxe.training.loop.config import RunConfig
from handaxe.training.record import RunRecord

SMALL = {"steps": 2, "groups": 2, "group_size": 3, "held_out": 4, "max_turns": 2, "max_tokens": 12, "seed": 3}
MODULE = """
from dataclasses import replace

from handaxe.core.records import Message
from handaxe.training.loop.config import AsyncConfig
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.sources import played, scripted
from handaxe.training.stages.teach import teach

STEADY = AsyncConfig(lockstep=True)


def said(site):
    for k in range(8):
        words = (Message("user", f"{k}+1=?"), Message("assistant", str(k + 1)))
        yield trajectory_from_messages(site.format, words, id=str(k))


def with_teaching(base):
    return replace(
        base,
        annotate=("ref_logp",),
        shared=(teach(source=scripted(trajectories=said), batch_size=4),),
        stages=(teach(source=played(groups=2, group_size=2, arguments={"async_config": STEADY}), batch_size=2),),
        async_config=STEADY,
    )
"""


@pytest.fixture
def make_spec(tmp_path, monkeypatch):
    """Spec of a user's own method with stages; the cache is empty."""
    (tmp_path / "with_stages.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    return lambda **changes: run_template("with_stages:with_teaching", world="arithmetic").read({**SMALL, **changes})


def final(out):
    """The policy's weights at the end of a run."""
    (last,) = sorted((out / "checkpoints").iterdir())[-1:]
    found = load_file(last / "engine" / "engine.safetensors")
    return {name: value for name, value in found.items() if name.startswith("weights.")}


def test_stages_run_before_the_loop_and_shared_stages_run_once(make_spec, tmp_path):
    out = tmp_path / "run"
    result = run(make_spec(), RunConfig(out=out, progress=False, recipe={"name": "mine"}))
    assert len(result.metrics) == 2 and not result.stopped
    assert {one.name for one in out.iterdir()} >= {"checkpoints", "record.sqlite", "recipe.json", "stages"}
    names = {"01-teach", "metrics.json", "shared.json", "stages.json", "writer.lock"}
    assert {one.name for one in (out / "stages").iterdir()} == names
    with RunRecord.open(out) as record:
        assert record.about()["recipe"]["name"] == "mine" and record.steps() == [0, 1]
        assert record.about()["arguments"]["steps"] == 2
    run(make_spec(seed=4), RunConfig(out=tmp_path / "other", progress=False))
    kept = [one for one in (tmp_path / "cache" / "stages").iterdir() if one.is_dir()]
    assert len(kept) == 1
    with pytest.raises(InputError, match="there is a run in"):
        run(make_spec(), RunConfig(out=out, progress=False))


def test_run_stopped_in_a_stage_resumes_from_the_stage(make_spec, tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(make_spec(), RunConfig(out=whole, progress=False))

    def dies(*arguments, **options):
        raise RuntimeError("power failure")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power failure"):
        patch.setattr(supervised, "optimiser_step", dies)  # of the own stage: the shared one is in the cache
        run(make_spec(), RunConfig(out=broken, progress=False, recipe={"name": "mine"}))
    with RunRecord.open(broken) as record:
        assert record.about()["recipe"]["name"] == "mine" and record.steps() == []
    result = run(make_spec(), RunConfig(out=broken, resume=True, progress=False))
    assert len(result.metrics) == 2
    first, second = final(whole), final(broken)
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_stage_gets_the_roles_of_the_run(tmp_path):
    seen = []

    def stage(site):
        seen.append((site.engine.version, site.out.parent, len(site.tasks.next(0, 2)), site.sampling.max_tokens))
        return [{"loss": 1.0}]

    def staged(base):
        return replace(base, stages=(stage,))

    made = run_template("quickstart")
    made = replace(made, method=made.method._replace(name="staged", make=staged))
    result = run(made.read({**SMALL, "steps": 1}), RunConfig(out=tmp_path / "run", progress=False))
    assert seen == [(0, tmp_path / "run" / "stages", 2, 12)] and len(result.metrics) == 1


@pytest.mark.slow
def test_closing_stages_run_before_the_last_evaluation_and_checkpoint(make_spec, tmp_path, monkeypatch):
    def closed(base):
        taught = with_teaching(base)
        return replace(base, closing=taught.stages, annotate=("ref_logp",), async_config=taught.async_config)

    made = make_spec()
    with_teaching = made.template.method.make
    made = replace(made, template=replace(made.template, method=made.template.method._replace(make=closed)))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    open_end = tmp_path / "open"
    result = run(made, RunConfig(out=whole, progress=False))
    assert len(result.metrics) == 2 and not (whole / "stages").exists()
    closing = whole / "closing-000002"
    assert [one.name for one in sorted(closing.iterdir()) if one.is_dir()] == ["00-teach"]
    left = load_file(sorted((closing / "00-teach/checkpoints").iterdir())[-1] / "engine/engine.safetensors")
    after = final(whole)
    assert all(torch.equal(after[name], left[name]) for name in after)

    def stays_open(base):
        return replace(closed(base), closing=())

    run(
        replace(made, template=replace(made.template, method=made.template.method._replace(make=stays_open))),
        RunConfig(out=open_end, progress=False),
    )
    assert any(not torch.equal(after[name], value) for name, value in final(open_end).items())

    def dies(*arguments, **options):
        raise RuntimeError("power failure")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="power failure"):
        patch.setattr(supervised, "optimiser_step", dies)
        run(made, RunConfig(out=broken, progress=False))
    with RunRecord.open(broken) as record:
        assert record.steps() == [0] and sorted(record.evaluations()) == [0]
    run(made, RunConfig(out=broken, resume=True, progress=False))
    again = final(broken)
    assert all(torch.equal(after[name], again[name]) for name in after)
    with RunRecord.open(broken) as record:
        assert sorted(record.evaluations()) == [0, 2]
    longer = replace(made, settings=replace(made.settings, steps=3))
    assert len(run(longer, RunConfig(out=whole, resume=True, progress=False)).metrics) == 3
    assert any(not torch.equal(after[name], value) for name, value in final(whole).items()), "the third step counts"
    assert (whole / "closing-000003/00-teach").is_dir()
