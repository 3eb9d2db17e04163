"""Reward models of different initializations."""

import numpy as np
from helpers.reward_models import labelled_group

from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.rm_ensembles.members_of import members_of


def test_members_differ_by_their_seeds_alone():
    policy = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))
    group, _ = labelled_group(0)
    members = [*members_of(count=2), *members_of(count=2, first=1)]
    for one in members:
        one.begin(policy)
    zero, one, again, two = (member.score(group) for member in members)
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(zero, one) and not np.allclose(one, two) and not np.allclose(zero, two)
