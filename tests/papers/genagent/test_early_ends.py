from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending
from handaxe.papers.genagent.early_ends import early_ends
from handaxe.testing.make_records import make_trajectory


def trunk(ending="completed"):
    one = make_trajectory(id="t/0", layouts=["UUt pp tTt pp tTt p"])
    return replace(one, ending=Ending(ending))


def test_early_ends_chooses_the_start_of_the_last_turn():
    one = trunk()
    place = Branch("t/0", 0, one.turns[-1].start)
    assert early_ends(rounds=lambda own: 2, turns=4, copies=2)(one) == [place, place]


@pytest.mark.parametrize("rounds, ending", [(0, "completed"), (3, "completed"), (2, "truncated"), (2, "policy_error")])
def test_other_rollouts_are_not_forked(rounds, ending):
    assert early_ends(rounds=lambda one: rounds, turns=4)(trunk(ending)) == []


def test_early_ends_rejects_invalid_arguments():
    with pytest.raises(InputError, match="turns=0"):
        early_ends(rounds=len, turns=0)
