import numpy as np

from handaxe.core.records import Scores
from handaxe.evaluation.policy_rollouts import policy_rollouts
from handaxe.papers.tree_preferences.response_trees import drawn_pairs, leaf_count, response_tree
from handaxe.papers.tree_preferences.segment_forks import shared_tokens
from handaxe.testing.make_records import make_group
from handaxe.worlds.arithmetic import arithmetic


def test_leaves_of_a_tree_share_prefixes_of_the_trunk():
    play = policy_rollouts(arithmetic())
    found = play("train", tasks=3, samples=1, seed=2, rollout=response_tree(depth=2, branches=2))
    for group, scores in found:
        assert len(group) <= leaf_count(depth=2, branches=2) and len(scores.outcome) == len(group)
        for leaf in group.trajectories[1:]:
            assert leaf.branch_of is not None and leaf.branch_of.trajectory == group[0].id
            assert shared_tokens(group[0], leaf) >= leaf.branch_of.token > group[0].turns[0].start
    assert max(len(group) for group, _ in found) == leaf_count(depth=2, branches=2)


def test_pairs_are_of_unequal_siblings_in_an_order_by_seed():
    given = [(make_group(size=3, step=n), Scores(np.array(own))) for n, own in enumerate([[1.0, 0, 0], [1.0, 1, 1]])]
    found = drawn_pairs(given, seed=0)
    assert {(p.chosen.sample, p.rejected.sample) for p in found} == {(0, 1), (0, 2)} and len(found) == 2
    many = [(make_group(size=4, step=n), Scores(np.array([1.0, 0, 0, 0]))) for n in range(5)]
    orders = [[pair.rejected.id for pair in drawn_pairs(many, seed=seed)] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
