import pytest

from handaxe.core.errors import InputError
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record import RunRecord
from handaxe.training.stages.reinforce import reinforce


def test_it_is_one_call_of_train(world, tmp_path):
    staged, plain, seen = world.site(out=tmp_path, seed=3), world.site(seed=3), []
    arguments = {**world.TRAIN, "steps": 2, "sampling": world.Sampling(max_tokens=4)}

    def log(step, metrics):
        seen.append(step)

    log.close = lambda: None
    metrics = reinforce(arguments={**arguments, "run": RunConfig(loggers=(log,), checkpoint_every=1)})(staged)
    roles = {name: getattr(plain, name) for name in ("engine", "format", "env", "tasks", "rollout", "reward")}
    train(**roles, **arguments, seed=3, run=RunConfig(progress=False))
    assert world.same(world.weights(staged.engine), world.weights(plain.engine))
    assert [row["step"] for row in metrics] == [0, 1] == seen
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [0, 1]


@pytest.mark.parametrize(
    "name, message", [("setps", "no argument setps"), ("seed", "the context of a stage sets seed")]
)
def test_reinforce_refuses_unknown_and_fixed_arguments(name, message):
    with pytest.raises(InputError, match=message):
        reinforce(arguments={name: 1})
