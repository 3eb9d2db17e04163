import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import FromPolicy, Learner
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.train import train
from handaxe.training.record.checkpoint import Checkpoints


def test_it_begins_as_the_policy_and_shares_nothing_with_it(world):
    engine, second = world.make_engine(), AuxLearner(reference=True)
    assert isinstance(second, Learner) and isinstance(second, FromPolicy)
    with pytest.raises(InputError, match="has no model yet"):
        second.engine
    second.begin(engine)
    own, start = second.engine, world.weights(engine)
    assert own is not engine and world.same(world.weights(own), start)
    train(**world.arguments(engine=engine, steps=1, learners=(second,)))
    assert not world.same(world.weights(engine), start) and world.same(world.weights(own), start)
    assert second.engine is own


def test_a_checkpoint_holds_it(world, tmp_path):
    engine, second = world.make_engine(), AuxLearner(world.make_engine(seed=5))
    with torch.no_grad():
        next(second.engine.model.module.parameters()).add_(1.0)
    kept = world.weights(second.engine)
    train(**world.arguments(engine=engine, steps=1, learners=(second,), out=tmp_path))
    fresh = AuxLearner(world.make_engine(seed=9))
    parts = world.arguments(engine=world.make_engine(), steps=1, learners=(fresh,), out=tmp_path, resume=True)
    train(**parts)
    assert len(Checkpoints(tmp_path / "checkpoints").found()) == 1
    assert world.same(world.weights(fresh.engine), kept)
    assert world.same(world.weights(parts["engine"]), world.weights(engine))


def test_aux_learner_refuses_an_engine_that_cannot_be_saved_or_copied(world):
    with pytest.raises(InputError, match="ScriptedEngine cannot be saved in checkpoints"):
        AuxLearner(ScriptedEngine(world.FORMAT, []))
    with pytest.raises(InputError, match="ScriptedEngine cannot be copied"):
        AuxLearner().begin(ScriptedEngine(world.FORMAT, []))
