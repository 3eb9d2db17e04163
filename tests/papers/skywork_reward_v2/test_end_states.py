from dataclasses import replace

import numpy as np
import pytest

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.models.load import load
from handaxe.papers.skywork_reward_v2.end_states import end_states
from handaxe.testing.make_records import make_group


@pytest.fixture(scope="module")
def engine():
    return engines.LocalEngine(load("tiny").model)


def test_a_state_is_of_the_last_token_alone_and_in_any_batch(engine):
    group = make_group(layouts=["Utpp", "Utppppp", "Utp"])
    together = end_states(engine, list(group))
    alone = end_states(engine, list(group), rows=1)
    for one in group:
        assert together(one) == pytest.approx(alone(one), abs=1e-5)
    changed = group[0].sequences[0].ids.copy()
    changed[-1] += 1
    other = replace(group[0], sequences=(replace(group[0].sequences[0], ids=changed),))
    assert np.abs(end_states(engine, [other])(other) - together(group[0])).max() > 1e-3


def test_other_engines_and_unread_rollouts_raise(engine):
    group = make_group(size=2)
    with pytest.raises(InputError, match="local engine"):
        end_states(object(), list(group))
    with pytest.raises(KeyError):
        end_states(engine, [group[0]])(group[1])
