from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Author, Group, RatedGroup, Scores
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.staleness import may_launch, token_ages


def test_the_gate_of_the_paper():
    """B 4, eta 1: the 8th group may be launched before any step is done, the 9th only after the first."""
    assert may_launch(8, groups=4, done=0, staleness=1)
    assert not may_launch(9, groups=4, done=0, staleness=1)
    assert may_launch(9, groups=4, done=1, staleness=1)


@pytest.mark.parametrize("groups", [1, 3, 4])
@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_it_lets_exactly_the_next_steps_through(groups, staleness):
    for done in range(4):
        allowed = [n for n in range(1, 60) if may_launch(n, groups=groups, done=done, staleness=staleness)]
        assert allowed == list(range(1, (done + staleness + 1) * groups + 1))


@pytest.mark.parametrize("bad", [{"launched": 0}, {"groups": 0}, {"done": -1}, {"staleness": -1}])
def test_it_refuses_what_is_no_count(bad):
    with pytest.raises(InputError, match="the gate got"):
        may_launch(**{"launched": 1, "groups": 1, "done": 0, "staleness": 0} | bad)


def rated(*versions, kept=True):
    """A group of one attempt whose sampled tokens have these versions."""
    one = make_trajectory(layouts=["UU " + "p" * len(versions)])
    sequence = one.sequences[0]
    sequence.version[sequence.mask] = versions
    mask = np.array([kept])
    return RatedGroup.of(
        Group(one.task, (one,)), Scores(np.ones(1)), Advantages(((np.zeros(len(sequence)),),)), trained=mask
    )


def test_ages_count_steps_and_not_optimiser_steps():
    ages = token_ages([rated(4, 4, 2)], [0, 2, 4])
    assert ages["staleness/mean"] == pytest.approx(1 / 3) and ages["staleness/max"] == 1
    assert token_ages([rated(4), rated(0)], [0, 2, 4]) == {"staleness/mean": 1, "staleness/max": 2}


def test_a_version_from_within_a_step_counts_from_that_step():
    assert token_ages([rated(3)], [0, 2, 4])["staleness/max"] == 1


def test_a_step_that_changed_nothing_ages_nothing():
    assert token_ages([rated(5)], [5, 5, 5]) == {"staleness/mean": 0, "staleness/max": 0}
    assert token_ages([rated(5)], [5, 5, 6]) == {"staleness/mean": 1, "staleness/max": 1}


def test_only_trained_tokens_count_and_nothing_has_no_age():
    assert token_ages([rated(4), rated(0, kept=False)], [0, 2, 4])["staleness/max"] == 0
    assert token_ages([rated(0, kept=False)], [0, 2, 4]) == token_ages([], [0]) == {}


def test_what_is_older_than_the_run_has_the_age_of_the_run():
    assert token_ages([rated(1)], [5, 6, 7])["staleness/max"] == 2


def test_what_no_policy_drew_or_does_not_train_has_no_age():
    one = rated(4, 4, 2, 0)
    (row,) = one.group[0].sequences
    row.author[row.mask.nonzero()[0][2]] = Author.FORCED
    trains = np.arange(len(row)) < len(row) - 1
    one = replace(one, advantages=replace(one.advantages, trains=((trains,),)))
    assert token_ages([one], [0, 2, 4]) == {"staleness/mean": 0.0, "staleness/max": 0.0}
