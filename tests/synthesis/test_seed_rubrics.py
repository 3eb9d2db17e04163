"""Retrieval of seed rubrics."""

import pytest

from handaxe.core.errors import InputError
from handaxe.synthesis.seed_rubrics import SeedCase, SeedRubrics

pytest.importorskip("bm25s")
CASES = [SeedCase("4071 boss ally", ()), SeedCase("9000 heir", ()), SeedCase("1 idol", ())]


def test_the_nearest_case_comes_first_and_equal_scores_keep_the_order():
    base = SeedRubrics(CASES)
    assert base.nearest("7120 heir", 1) == [CASES[1]] and base.nearest("7120 heir", 0) == []
    assert base.nearest("nothing", 5) == CASES and base.nearest("heir of the idol", 3)[2] == CASES[0]


def test_an_empty_base_is_refused():
    with pytest.raises(InputError, match="one case or more"):
        SeedRubrics([])
