import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.ops.seeds import derive_seed
from handaxe.testing.crash import kill_until_done, start_child
from handaxe.training.loop.train import train
from handaxe.training.loop.update import optimiser_step
from handaxe.training.record import RunRecord
from handaxe.training.record.folder import FolderLock
from handaxe.training.sft.supervised import as_rated, in_batches, supervised_batch
from handaxe.training.stages.run_stages import run_stages, stage_metrics
from handaxe.training.stages.sources import play_at, scripted
from handaxe.training.stages.teach import teach

NAMES = ["00-teach", "01-reinforce", "02-repeat"]


def test_metrics_of_finished_stages_are_read_by_name_of_the_stage(world, tmp_path):
    result = run_stages(world.stages(), world.site(out=tmp_path / "stages"))
    found = stage_metrics(tmp_path)
    assert list(found) == ["teach", "reinforce", "repeat", "prefer"]
    assert found["teach"] == result.metrics["00-teach"] and found["repeat"] == result.metrics["02-repeat"]
    rounds = [{name: row[name] for name in row if name not in ("step", "round")} for row in found["repeat"]]
    assert [{name: row[name] for name in row if name != "step"} for row in found["prefer"]] == rounds
    assert {row["pairs"] for row in found["prefer"]} == {3.0} and stage_metrics(tmp_path / "none") == {}
    for number, lessons in ((9, 1.0), (10, 2.0)):  # closing stages of an extended run
        last = tmp_path / f"closing-{number:06d}"
        run_stages([lambda site, n=lessons: [{"n": n}]], world.site(out=last))
    assert stage_metrics(tmp_path)["test_metrics_of_finished_stages_are_read_by_name_of_the_stage"] == [{"n": 2.0}]


@pytest.mark.exact
def test_stages_are_the_same_calls_one_after_the_other(world):
    """To the bit: the same steps taken by hand."""
    staged, plain = world.site(), world.site()
    result = run_stages(world.stages(), staged)
    assert list(result.metrics) == NAMES and [len(rows) for rows in result.metrics.values()] == [6, 3, 6]
    assert not result.stopped and result.path is None

    engine, lessons = plain.engine, world.conversations()
    seeds = [derive_seed(plain.seed, "stage", k) for k in range(3)]
    engine.restart()
    for index in in_batches(6, 2, 2, seeds[0]):
        batch = supervised_batch([as_rated([lessons[i]]) for i in index], engine)
        optimiser_step(engine, world.CROSS_ENTROPY, [batch], 0.01)
    roles = {name: getattr(plain, name) for name in ("format", "env", "tasks", "rollout", "reward", "sampling")}
    train(**world.TRAIN, **roles, engine=engine, steps=3, seed=seeds[1], run=world.RunConfig(progress=False))
    for k in range(2):
        seed = derive_seed(seeds[2], "stage", k)
        groups = play_at(plain._replace(seed=seed), {**world.PLAY, "steps": 1, "groups": 3, "group_size": 4})
        pairs = world.best_against_worst()(groups)
        assert len(pairs) == 3
        engine.restart()
        for index in in_batches(3, 1, 1, seed):
            batch = supervised_batch([as_rated([pairs[i].chosen, pairs[i].rejected]) for i in index], engine)
            extras = {"ref_logp": engine.forward(batch, reference=True)["logp"]}
            optimiser_step(engine, world.dpo(), [replace(batch, extras=extras)], 0.01)
    assert engine.version == staged.engine.version == 15
    assert world.same(world.weights(engine), world.weights(staged.engine))


def test_a_folder_of_stages_has_one_writer(world, tmp_path):
    with FolderLock(tmp_path), pytest.raises(InputError, match="is writing the run in"):
        run_stages(world.stages(), world.site(out=tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == ["writer.lock"]


@pytest.mark.slow
@pytest.mark.exact
def test_what_is_kept_changes_nothing_and_is_resumed_when_done(world, tmp_path):
    unkept, kept, again = world.site(), world.site(out=tmp_path), world.site(out=tmp_path, resume=True)
    first, second = run_stages(world.stages(), unkept), run_stages(world.stages(), kept)
    assert rows(first) == rows(second) and world.same(world.weights(unkept.engine), world.weights(kept.engine))
    assert sorted(one.name for one in tmp_path.iterdir()) == [*NAMES, "metrics.json", "stages.json", "writer.lock"]
    with RunRecord.open(tmp_path / "01-reinforce") as record:
        assert record.steps() == [0, 1, 2] and len(record.trajectories()) == 18
    third = run_stages(world.stages(), again)
    assert rows(third) == rows(first) and world.same(world.weights(again.engine), world.weights(kept.engine))
    with RunRecord.open(tmp_path / "02-repeat" / "01-prefer") as record:
        assert [event.kind for event in record.events()] == ["started", "finished", "resumed", "finished"]


def rows(result):
    """The metrics that do not measure time."""
    return [
        {name: value for name, value in row.items() if not name.startswith("seconds/")}
        for found in result.metrics.values()
        for row in found
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_random_and_resumed_is_uninterrupted(world, tmp_path, seed):
    """A child process, killed at random instants until it is done: the same weights, to the bit."""
    rng, whole = random.Random(seed), world.site()
    run_stages(world.stages(), whole)
    (tmp_path / "warm").mkdir()
    start_child(Path(world.__file__), "resume_stages", (tmp_path / "warm", 0.0)).join()  # the server has imported torch
    after = [rng.uniform(0.05, 0.9) for _ in range(9)]
    kills = kill_until_done(Path(world.__file__), "resume_stages", (tmp_path, 0.06), after=after)
    assert kills >= 1
    for folder in (tmp_path, tmp_path / "warm"):
        assert world.same(torch.load(folder / "final.pt"), world.weights(whole.engine))


@pytest.mark.slow
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_ctrl_c_stops_all_stages_and_they_go_on_from_there(world, tmp_path, stage):
    whole, first, second = world.site(), world.site(out=tmp_path), world.site(out=tmp_path, resume=True)
    run_stages(world.stages(), whole)
    stages = world.stages()

    def pressed(site):
        os.kill(os.getpid(), signal.SIGINT)  # before the first step of the stage is over
        return stages[stage](site)

    pressed.__qualname__ = stages[stage].__qualname__
    result = run_stages([*stages[:stage], pressed, *stages[stage + 1 :]], first)
    assert result.stopped == "interrupted" and list(result.metrics) == NAMES[: stage + 1]
    assert run_stages(world.stages(), second).stopped == ""
    assert world.same(world.weights(whole.engine), world.weights(second.engine))


def test_a_folder_of_other_stages_is_refused(world, tmp_path):
    run_stages(world.stages()[:1], world.site(out=tmp_path))
    with pytest.raises(InputError, match="stages in .* already"):
        run_stages(world.stages()[:1], world.site(out=tmp_path))
    with pytest.raises(CheckpointError, match=r"begun with the stages \['00-teach'\]"):
        run_stages(world.stages()[1:], world.site(out=tmp_path, resume=True))
    (tmp_path / "stages.json").write_text("[]")
    with pytest.raises(CheckpointError, match="is damaged"):
        run_stages(world.stages()[:1], world.site(out=tmp_path, resume=True))


# --- shared stages -------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "stages"


def made(cache):
    return sorted(one.name for one in cache.iterdir() if one.is_dir())


def lesson(world, calls=None, **options):
    def loss(policy, batch):
        if calls is not None:
            calls.append(1)
        return world.CROSS_ENTROPY(policy, batch)

    given = {"source": scripted(trajectories=world.conversations()), "batch_size": 3, "learning_rate": 0.01}
    return teach(**given | options) if calls is None else teach(**given | options, loss=loss)


def test_shared_stages_are_done_once_for_all_seeds_and_engines(world, cache, tmp_path):
    """The one who makes them, another seed, and an engine with a critic and no reference begin alike."""
    sites = [
        world.site(seed=1, out=tmp_path / "one"),
        world.site(seed=2),
        world.site(seed=2, engine=world.make_engine(critic=True)),
    ]
    results = [run_stages([], site, shared=[lesson(world)]) for site in sites]
    assert len(made(cache)) == 1 and results[0].metrics == results[1].metrics == results[2].metrics
    assert list(results[0].metrics) == ["00-teach"] and len(results[0].metrics["00-teach"]) == 2
    assert json.loads((tmp_path / "one" / "shared.json").read_text())["folder"] == str(cache / made(cache)[0])
    first = world.weights(sites[0].engine)
    assert not world.same(first, world.weights(world.make_engine()))
    for site in sites:
        assert world.same(first, world.weights(site.engine)) and site.engine.version == 2
        assert not site.engine._optimizer.state
    batch = supervised_batch([as_rated(world.conversations())], sites[0].engine)
    for site in sites[:2]:
        assert torch.equal(site.engine.forward(batch)["logp"], site.engine.forward(batch, reference=True)["logp"])


@pytest.mark.slow
@pytest.mark.exact
def test_what_follows_shared_stages_is_as_after_them(world, cache, tmp_path):
    """Made here, found there: the stages after them draw and come to the same."""
    sites = [world.site(seed=4), world.site(seed=4), world.site(seed=4, out=tmp_path / "kept")]
    for site in sites:
        run_stages(world.stages()[1:], site, shared=[lesson(world)])
    for other in sites[1:]:
        assert world.same(world.weights(sites[0].engine), world.weights(other.engine))
    again = world.site(seed=4, out=tmp_path / "kept", resume=True)
    run_stages(world.stages()[1:], again, shared=[lesson(world)])
    assert world.same(world.weights(sites[0].engine), world.weights(again.engine)) and len(made(cache)) == 1


def test_other_arguments_lessons_weights_or_settings_are_other_stages(world, cache):
    shared = [
        (lesson(world), {}),
        (lesson(world, epochs=2), {}),
        (lesson(world, source=scripted(trajectories=world.conversations(5))), {}),
        (lesson(world), {"seed": 1}),
        (lesson(world), {"clip_norm": 0.5}),
        (lesson(world, calls=[]), {}),
    ]
    for k, (stage, options) in enumerate(shared):
        run_stages([], world.site(engine=world.make_engine(**options)), shared=[stage])
        assert len(made(cache)) == k + 1
    run_stages([], world.site(seed=99), shared=[lesson(world)])
    assert len(made(cache)) == len(shared)


def test_a_shared_stage_that_needs_the_runs_own_roles_is_refused(world, cache):
    with pytest.raises(InputError, match="asks for the site's tasks, and it is shared by runs of all seeds"):
        run_stages([], world.site(), shared=world.stages()[1:2])
    with pytest.raises(InputError, match="cannot share stages"):
        run_stages([], world.site(engine=object()), shared=[lesson(world)])
    assert not [name for name in made(cache) if not name.endswith(".work")]  # nothing that a run could take for done


@pytest.mark.slow
def test_processes_at_once_and_killed_ones_begin_from_the_same_file(world, tmp_path):
    """Two children at once, one of them killed on its way, and a third after them."""
    file = Path(world.__file__)
    children = [start_child(file, "resume_shared", (tmp_path, 0.05, seed, f"run-{seed}")) for seed in (1, 2)]
    children[0].join(0.4)
    children[0].kill()
    children[0].join()
    children[1].join(120)
    assert children[1].exitcode == 0
    for seed in (1, 3):
        child = start_child(file, "resume_shared", (tmp_path, 0.05, seed, f"run-{seed}"))
        child.join(120)
        assert child.exitcode == 0
    assert len(made(tmp_path / "cache" / "stages")) == 1
    found = [torch.load(tmp_path / f"run-{seed}.pt") for seed in (1, 2, 3)]
    assert world.same(found[0], found[1]) and world.same(found[1], found[2])
