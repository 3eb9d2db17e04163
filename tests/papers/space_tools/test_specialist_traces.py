import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import Restarts
from handaxe.core.records import Sampling
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.models.load import load
from handaxe.papers.space_tools.specialist_traces import single_tool_tasks, specialist_traces
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_task
from handaxe.training.stages.context import make_site
from handaxe.training.stages.teach import teach

pytest.importorskip("skimage")
pytest.importorskip("PIL")

from handaxe.worlds.spatial.world import spatial  # noqa: E402

WORLD = spatial(pointer=True)


@pytest.fixture
def site(tmp_path):
    policy = load("tiny_vision")
    made = make_site(engine=LocalEngine(policy.model), format=policy.format, seed=1, env=WORLD.env(WORLD.tools))
    return made._replace(
        tasks=in_order(WORLD.tasks("train", 8, 0)),
        rollout=linear(max_turns=2),
        reward=outcome(lambda one: float(len(one.final_text))),
        sampling=Sampling(max_tokens=8),
        out=tmp_path,
    )


def weights(engine):
    return torch.cat([one.detach().flatten().clone() for one in engine.model.module.parameters()])


def traces(steps):
    tasks = single_tool_tasks(WORLD.tasks("train", 30, 0), kinds=("point", "box"), tool="locate")
    arguments = {"credit": group_norm(), "loss": cross_entropy(), "steps": steps, "groups": 2, "group_size": 2}
    return specialist_traces(tasks=tasks, arguments=arguments, groups=3)


def test_the_specialist_plays_one_tool_and_the_weights_return(site):
    before = weights(site.engine)
    found = traces(1)(site)
    assert torch.equal(before, weights(site.engine)) and isinstance(site.engine, Restarts)
    assert len(found) == 3 and all(len(one.group) == 2 for one in found)
    for one in found:
        assert one.group.task.metadata["kind"] in ("point", "box")
        assert [schema.name for schema in one.group[0].tools] == ["locate"]
        versions = {int(v) for play in one.group for row in play.sequences for v in row.version[row.mask]}
        assert versions == {1}, "played after the specialist's update"


def test_traces_are_taught_and_no_steps_give_none(site):
    assert traces(0)(site) == []
    before = weights(site.engine)
    rows = teach(source=traces(1), batch_size=4)(site)
    assert len(rows) == 2 and not torch.equal(before, weights(site.engine))


def test_bad_arguments_raise():
    with pytest.raises(InputError, match="steps and group_size"):
        specialist_traces(tasks=[make_task()], arguments={"steps": 1}, groups=1)
    with pytest.raises(InputError, match="none of 1 tasks"):
        single_tool_tasks([make_task()], kinds=("point",), tool="locate")
