from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.training.stages.context import make_site
from handaxe.training.stages.run_stages import run_stages
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.mistakes import add_mistakes

SUMS = arithmetic(easy=0.0)


def site(world, **more):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=160), seed=0)
    return make_site(engine=LocalEngine(model), format=world.FORMAT, **more)


def test_it_learns_what_the_expert_says(world):
    here = site(world)
    metrics = teach_expert(world=SUMS, steps=6, batch_size=2, learning_rate=0.01)(here)
    assert len(metrics) == here.engine.version == 6
    assert metrics[-1]["loss"] < metrics[0]["loss"]


def test_no_step_changes_nothing(world):
    here = site(world)
    before = world.weights(here.engine)
    assert teach_expert(world=SUMS, steps=0)(here) == []
    assert world.same(before, world.weights(here.engine)) and here.engine.version == 0


def test_it_is_played_as_the_world_says_and_never_about_what_is_held_out(world):
    asked = []

    def expert(task, facts):
        asked.append(task.messages[0].content)
        return SUMS.expert(task, facts)

    teach_expert(world=replace(SUMS, expert=expert), steps=2, batch_size=4)(site(world, seed=derive_seed(1)))
    held_out = {task.messages[0].content for task in SUMS.tasks("test", 200, 0)}
    assert len(asked) == 16 and not held_out & set(asked)


def test_a_shared_one_is_done_once_and_an_erring_expert_is_another(world, tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    erring = replace(SUMS, expert=add_mistakes(SUMS.expert))
    for made in (SUMS, SUMS, erring):
        run_stages([], site(world), shared=[teach_expert(world=made, steps=1, batch_size=2)])
    assert len(list((tmp_path / "stages").glob("*/engine"))) == 2


def test_teach_expert_refuses_negative_steps_and_a_world_without_expert(world):
    with pytest.raises(InputError, match="steps is -1"):
        teach_expert(world=SUMS, steps=-1)
    with pytest.raises(InputError, match="has no 'expert'"):
        teach_expert(world=replace(SUMS, expert=None), steps=1)
