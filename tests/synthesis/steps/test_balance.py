"""Balance of a note's values."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.balance import balance


def drafts(values):
    return [make_draft("task", {"number": n}, notes={"calls": value}) for n, value in enumerate(values)]


def kept(values, seed=0, **options):
    made = drafts(values)
    outcomes = balance("calls", **options).run(made, SynthesisContext(seed))
    return [one.id for one in made if one.id in {draft.id for it in outcomes for draft in it.kept}], made


def test_by_hand():
    ids, made = kept([1] * 10 + [2] * 2 + [3] * 2)
    assert Counter(one.notes["calls"] for one in made if one.id in ids) == {1: 4, 2: 2, 3: 2}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.sampled_from([0.5, 1.0, 2.5]))
def test_slow_twin(values, factor):
    ids, made = kept(values, factor=factor)
    count = Counter(values)
    for value, number in count.items():
        others = [count[one] for one in count if one != value]
        most = np.ceil(round(factor * np.mean(others), 9)) if others else number
        assert sum(one.notes["calls"] == value for one in made if one.id in ids) == min(number, most)


def test_another_seed_draws_others():
    values = [1] * 20 + [2]
    assert kept(values, seed=0)[0] != kept(values, seed=1)[0] and kept(values)[0] == kept(values)[0]


def test_wrong_input():
    with pytest.raises(InputError, match="factor is 0"):
        balance("calls", factor=0)
    with pytest.raises(InputError, match="has no note 'calls'"):
        balance("calls").run([make_draft("task", {})], SynthesisContext(0))
