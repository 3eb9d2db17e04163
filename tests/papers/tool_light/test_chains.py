"""Chains of a question by correctness."""

import math
from dataclasses import replace

import numpy as np
import pytest

from handaxe.papers.tool_light.chains import read_chains
from handaxe.papers.tool_light.entropy_tree import NOTE
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def rated(outcomes, *, texts=None, notes=None):
    """Chains with one call a letter of the text."""
    texts = texts or ["ab"] * len(outcomes)
    chains = [
        replace(make_trajectory(texts=[text], calls=[["f"] * len(text)]), notes=dict(notes or {})) for text in texts
    ]
    return make_rated(group=make_group(trajectories=chains), outcome=outcomes)


def test_read_chains_matches_its_example():
    found = read_chains(rated([1, 0, 0.5, 1]))
    assert [one.trajectory.sample for one in found.correct] == [0, 3]
    assert [one.trajectory.sample for one in found.incorrect] == [1]
    assert found.accuracy == 0.5 and not found.guided


def test_chains_without_a_score_are_left_out_and_none_has_no_accuracy():
    found = read_chains(rated([1, np.nan, 0]))
    assert found.accuracy == 0.5 and len(found.correct) == len(found.incorrect) == 1
    assert math.isnan(read_chains(rated([np.nan])).accuracy)


def test_numbers_of_a_chain():
    (chain,) = read_chains(rated([1], texts=["abc"])).correct
    assert (chain.calls, chain.tokens) == (3, chain.trajectory.num_tokens) and chain.entropy == math.inf
    guided = read_chains(rated([1], notes={NOTE: [(0.5, 1), (1.5, 1)]}))
    assert guided.guided and guided.correct[0].entropy == pytest.approx(1.0, abs=1e-12)
