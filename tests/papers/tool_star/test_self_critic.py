import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.tool_star.self_critic import self_critic
from handaxe.training.record.run_record import RunRecord


def test_self_critic_trains_on_the_best_and_worst_rollouts(world, tmp_path):
    site = world.site(out=tmp_path)
    before = world.weights(site.engine)
    metrics = self_critic(steps=1, groups=3, group_size=4, epochs=2, batch_size=2, learning_rate=0.01)(site)
    assert len(metrics) == site.engine.version and site.engine.version in (2, 4)  # of two or three pairs
    assert metrics[0]["loss"] == pytest.approx(0.693147, abs=1e-5)  # against the policy as it was found
    assert not world.same(before, world.weights(site.engine))
    with RunRecord.open(tmp_path / "played") as record:
        assert len(list(record.trajectories())) == 12


def test_self_critic_refuses_groups_of_equal_rewards(world):
    site = world.site(reward=lambda group: Scores(np.ones(len(group))))
    with pytest.raises(InputError, match="no pair"):
        self_critic(groups=1, group_size=2)(site)
    before = world.weights(site.engine)
    assert self_critic(groups=1, group_size=2, optional=True)(site) == []
    assert world.same(before, world.weights(site.engine))
