import copy

import numpy as np
import pytest
import torch

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.protocols import Copyable, Restarts, Stateful, StatefulEngine
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.batch import Row, pad


def make_engine(*, seed=0, width=16, **options):
    model = TinyModel.new(TinyConfig(width=width, layers=1, heads=2, max_length=64), seed=seed)
    return LocalEngine(model, **options)


def batch():
    (sequence,) = make_trajectory(layouts=["UUtppptTtpp"]).sequences
    return pad([Row(sequence, np.ones(len(sequence)), 0, 0)], pad_id=0)


def step(engine: StatefulEngine, times=1):
    for _ in range(times):
        engine.forward_backward(batch(), cross_entropy())
        engine.optim_step(learning_rate=0.01)
    return engine


def same(one, other):
    a, b = one.state_dict(), other.state_dict()
    return a["version"] == b["version"] and all(a["tensors"][k].equal(b["tensors"][k]) for k in a["tensors"])


@pytest.mark.exact
def test_loaded_state_dict_trains_bit_for_bit_like_its_source():
    one, other = step(make_engine(reference=True), 2), make_engine(seed=1, reference=True)
    state = one.state_dict()
    other.load_state_dict(state)
    assert same(one, other) and isinstance(one, Stateful) and isinstance(one, Restarts)
    copied = copy.deepcopy(state)
    step(one), step(other)
    assert same(one, other) and one.version == 3
    assert all(copied["tensors"][k].equal(state["tensors"][k]) for k in copied["tensors"]), "training changes no state"
    for now in (False, True):
        assert torch.equal(one.forward(batch(), reference=now)["logp"], other.forward(batch(), reference=now)["logp"])


def test_mismatched_state_dict_raises_and_changes_nothing():
    engine = step(make_engine())
    before = engine.state_dict()
    for wrong in (make_engine(width=32).state_dict(), make_engine(reference=True).state_dict()):
        with pytest.raises(CheckpointError, match="of another engine"):
            engine.load_state_dict(wrong)
    with pytest.raises(CheckpointError, match="other frozen weights"):
        engine.load_state_dict({**before, "frozen": "x"})
    assert all(engine.state_dict()["tensors"][k].equal(before["tensors"][k]) for k in before["tensors"])
    engine.forward_backward(batch(), cross_entropy())
    with pytest.raises(InputError, match="after optim_step"):
        engine.state_dict()


def test_twin_starts_equal_and_shares_no_tensors():
    one = step(make_engine(critic=True, weight_decay=0.1, packing="rows", betas=(0.8, 0.9)))
    two = one.twin(reference=True, clip_norm=3.0)
    assert isinstance(one, Copyable) and two.version == 0 and two.clip_norm == 3.0 and two._critic is None
    assert [group["weight_decay"] for group in two._optimizer.param_groups] == [0.1, 0.0]
    assert two._optimizer.defaults["betas"] == (0.8, 0.9) and type(two._reader) is type(one._reader)
    first = one.forward(batch())["logp"]
    for reference in (False, True):
        assert torch.equal(two.forward(batch(), reference=reference)["logp"], first)
    step(two, 2)
    assert torch.equal(one.forward(batch())["logp"], first) and not torch.equal(two.forward(batch())["logp"], first)
    moved = two.forward(batch())["logp"]
    step(one)
    assert torch.equal(two.forward(batch())["logp"], moved)
    assert torch.equal(two.forward(batch(), reference=True)["logp"], first)
    with_critic = one.twin(critic=True)
    assert not with_critic.forward(batch(), names=("value",))["value"].any() and with_critic._critic is not one._critic
