from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Group
from handaxe.credit.fork_norm import fork_norm
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.ops.ragged import scatter
from handaxe.ops.turn_tree import turn_tree
from handaxe.testing.make_records import make_scores, make_trajectory

CONTRACT = [{}, {"std": None}]
BIAS = [
    BiasCase("fork_norm(std=None)", lambda: fork_norm(std=None), forks=True),
    BiasCase("fork_norm()", fork_norm, forks=True),
]


def forked(*members):
    made = [replace(make_trajectory(layouts=layouts), id=id, branch_of=at) for id, layouts, at in members]
    return Group(made[0].task, tuple(made))


def scored(outcome, turns):
    return replace(make_scores(outcome), turns=tuple(np.array(own, float) for own in turns))


def test_fork_norm_matches_the_docstring_example():
    """The root has children a and b; a leads to two leaves, b to one."""
    group = forked(("i", ["Upp Tp"], None), ("j", ["Upp Tp Tp"], Branch("i", 0, 4)), ("k", ["Up Tp"], None))
    scores = scored([0, 0, 0], [[0.45, 1], [0.45, 0, 0], [0, 0]])
    i, j, k = (own[0].tolist() for own in fork_norm()(group, scores).tokens)
    near = pytest.approx
    assert i == near([0, 0.7071, 0.7071, 0, 0.7071], abs=1e-4)
    assert j == near([0, 0.7071, 0.7071, 0, -0.7071, 0, 0], abs=1e-4), "its last turn has no sibling"
    assert k == near([0, -0.7071, 0, 0], abs=1e-4)


def test_a_shared_turn_counts_once_in_the_statistics():
    group = forked(
        ("a", ["Up Tp"], None), ("b", ["Up Tp"], Branch("a", 0, 3)), ("c", ["Up Tp"], Branch("a", 0, 3)),
        ("d", ["Up Tp"], None),
    )  # fmt: skip
    scores = scored([0] * 4, [[1, 0], [1, 0], [1, 0], [0, 0]])
    found = fork_norm(std=None)(group, scores)
    assert [own[0][1] for own in found.tokens] == [0.5, 0.5, 0.5, -0.5], "the mean of 1 and 0, not of 1, 1, 1 and 0"


def test_an_unscored_sibling_gets_zero_and_counts_nowhere():
    group = forked(("a", ["Up"], None), ("b", ["Up"], None), ("c", ["Up"], None))
    found = fork_norm(std=None)(group, scored([0, 0, np.nan], [[1], [0], [9]]))
    assert [own[0][1] for own in found.tokens] == [0.5, -0.5, 0]


def test_a_turn_channel_replaces_the_rewards_of_turns():
    group = forked(("a", ["Up"], None), ("b", ["Up"], None))
    scores = replace(make_scores([0, 0]), turn_channels={"step": (np.array([3.0]), np.array([1.0]))})
    assert [own[0][1] for own in fork_norm(channel="step", std=None)(group, scores).tokens] == [1, -1]
    assert not np.any(fork_norm()(group, scores).tokens[0][0]), "there are no rewards of turns otherwise"
    with pytest.raises(InputError, match="no per-turn channel 'other'; there are step"):
        fork_norm(channel="other")(group, scores)


@pytest.mark.parametrize("seed", range(30))
def test_fork_norm_equals_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    members = [("a", ["Up Tpp Tppp"], None)]
    for n, name in enumerate("bcdef"):
        place = Branch(members[rng.integers(n + 1)][0], 0, int(rng.choice([1, 3, 6])))
        members.append((name, ["Up Tpp Tppp"], None if rng.random() < 0.3 else place))
    group = forked(*[members[i] for i in rng.permutation(6)])
    tree = turn_tree(group)
    value = rng.normal(size=len(tree.members))
    scores = scored([0] * 6, [value[own] for own in tree.nodes])
    said = fork_norm(eps=0.0)(group, scores)
    for one, own, tokens in zip(group, tree.nodes, said.tokens):
        slow = np.zeros((3, 0)).tolist()
        for k, step in enumerate(own):
            siblings = [value[s] for s in range(len(value)) if tree.parents[s] == tree.parents[step]]
            mean = sum(siblings) / len(siblings)
            var = sum((x - mean) ** 2 for x in siblings) / max(1, len(siblings) - 1)
            slow[k] = [(value[step] - mean) / var**0.5 if len(siblings) > 1 else 0.0] * (k + 1)
        (expected,) = scatter(one, np.array(sum(slow, [])))
        np.testing.assert_allclose(tokens[0], expected, atol=1e-9)
