from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.protocols import Stateful
from handaxe.core.records import Branch, Group
from handaxe.credit.group_norm import group_norm
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.shared_prefix_mean import shared_prefix_mean
from handaxe.ops.forks import owners
from handaxe.papers.portool.tree import tree
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.credit import check_credit
from handaxe.testing.records import make_scores, make_trajectory

CONTRACT = [{}, {"credit": return_to_go()}]


def forked(*members):
    made = [replace(make_trajectory(layouts=layouts), id=id, branch_of=at) for id, layouts, at in members]
    return Group(made[0].task, tuple(made))


def test_example():
    group = forked(
        ("a", ["Up Tp"], None), ("b", ["Up Tpp"], Branch("a", 0, 3)), ("c", ["Up"], None), ("d", ["Up"], None)
    )
    a, b, c, d = (own[0].tolist() for own in shared_prefix_mean()(group, make_scores([1, 0, 0, 0])).tokens)
    near = pytest.approx
    assert a == near([0, 0.5, 0, 1.5], abs=1e-5) and b == near([0, 0.5, 0, -0.5, -0.5], abs=1e-5)
    assert c == d == near([0, -0.5], abs=1e-5)


def test_within_a_turn_and_through_two_forks():
    group = forked(("a", ["Upppp"], None), ("b", ["Upppp"], Branch("a", 0, 4)), ("c", ["Upppp"], Branch("b", 0, 2)))
    raw = group_norm(std=None)
    a, b, c = (own[0].tolist() for own in shared_prefix_mean(credit=raw)(group, make_scores([3, 0, 0])).tokens)
    assert a == [0, 0, 0.5, 0.5, 2] and b == [0, 0, 0.5, 0.5, -1] and c == [0, 0, -1, -1, -1]


def test_who_was_not_scored_gets_nothing_and_counts_nowhere():
    group = forked(("a", ["Upp"], None), ("b", ["Upp"], Branch("a", 0, 2)), ("c", ["Upp"], Branch("a", 0, 2)))
    a, b, c = (own[0].tolist() for own in shared_prefix_mean(credit=group_norm(std=None))(
        group, make_scores([1, 0, np.nan])).tokens)  # fmt: skip
    assert a == [0, 0, 0.5] and b == [0, 0, -0.5] and c == [0, 0, 0]


def grown(seed):
    """A group of five with steps of random sizes that several share."""
    rng = np.random.default_rng(seed)
    members = [("a", ["Uppp Tpp Tppp"], None)]
    for n, name in enumerate("bcde"):
        members.append((name, ["Uppp Tpp Tppp"], Branch(members[rng.integers(n + 1)][0], 0, int(rng.integers(1, 10)))))
    return forked(*[members[i] for i in rng.permutation(5)]), make_scores(rng.normal(size=5))


@pytest.mark.parametrize("seed", range(30))
def test_the_slow_statement_and_the_sum_over_siblings_stays(seed):
    group, scores = grown(seed)
    raw, found = group_norm()(group, scores), shared_prefix_mean()(group, scores)
    whose = owners(group)
    for i in range(5):
        for t in range(10):
            sharing = [j for j in range(5) if whose[j][0][t] == whose[i][0][t]]
            slow = sum(raw.tokens[j][0][t] for j in sharing) / len(sharing)
            assert found.tokens[i][0][t] == pytest.approx(slow, abs=1e-12)
    for t in range(10):
        total = sum(found.tokens[i][0][t] for i in range(5))
        assert total == pytest.approx(sum(raw.tokens[i][0][t] for i in range(5)), abs=1e-12)


def test_nothing_depends_on_the_order_of_siblings_that_share():
    for seed in range(20):
        group, scores = grown(seed)
        order = [3, 1, 4, 0, 2]
        moved = Group(group.task, tuple(group[i] for i in order))
        first = shared_prefix_mean()(group, scores).tokens
        then = shared_prefix_mean()(moved, replace(scores, outcome=scores.outcome[order])).tokens
        for place, i in enumerate(order):
            np.testing.assert_allclose(then[place][0], first[i][0], atol=1e-12)


def test_on_a_tree_that_was_played(dice):
    attempt = dice.attempt(3)
    found = [one for one in run_plan(tree()(attempt), sample=dice.roll) if one.ending.reason != "stopped"]
    group = Group(attempt.task, tuple(found))
    scores = make_scores([float(len(one.turns)) + n for n, one in enumerate(found)])
    said, seen = shared_prefix_mean()(group, scores), {}
    for one, own in zip(group, said.tokens):
        for turn in one.turns:
            assert seen.setdefault(turn.seed, own[turn.sequence][turn.start]) == pytest.approx(own[0][turn.start])
    assert len(seen) < sum(len(one.turns) for one in found)


def test_the_state_is_that_of_the_credit():
    class Counting:
        def __init__(self):
            self.asked = 0

        def __call__(self, group, scores):
            self.asked += 1
            return group_norm()(group, scores)

        def state_dict(self):
            return {"asked": self.asked}

        def load_state_dict(self, state):
            self.asked = state["asked"]

    inner = Counting()
    credit = shared_prefix_mean(credit=inner)
    group, scores = grown(0)
    credit(group, scores)
    assert isinstance(credit, Stateful) and credit.state_dict() == {"credit": {"asked": 1}}
    credit.load_state_dict({"credit": {"asked": 5}})
    assert inner.asked == 5
    plain = shared_prefix_mean()
    plain.load_state_dict(plain.state_dict())
    check_credit(shared_prefix_mean(), compares=True)
