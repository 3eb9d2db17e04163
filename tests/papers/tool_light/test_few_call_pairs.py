import random
from dataclasses import replace

import numpy as np

from handaxe.papers.tool_light.chains import read_chains
from handaxe.papers.tool_light.entropy_tree import NOTE
from handaxe.papers.tool_light.few_call_pairs import few_call_pairs
from handaxe.testing.make_records import make_group, make_rated, make_task, make_trajectory


def chain(calls, entropy=None, tokens=2):
    """A rollout with this many calls in the first of two turns, and 2 + `tokens` tokens of the policy."""
    one = make_trajectory(layouts=[f"Ut pp tTt {'p' * tokens}"], calls=[["f"] * calls, []])
    return one if entropy is None else replace(one, notes={NOTE: [[entropy, 1], [entropy, 1]]})


def rated(chains, outcome, id="task-0"):
    group = make_group(trajectories=chains, task=make_task(id=id))
    return make_rated(group=group, outcome=outcome)


def places(pairs):
    return [(pair.chosen.sample, pair.rejected.sample) for pair in pairs]


def test_pairs_of_a_tree_by_hand():
    chains = [chain(2, 0.1), chain(1, 0.4), chain(1, 0.3), chain(1, 0.9), chain(2, 0.5), chain(3, 0.2)]
    found = few_call_pairs()([rated(chains, [1, 1, 1, 0, 0, 0])])
    assert places(found) == [(2, 5)] and found[0].strength == 1
    assert places(few_call_pairs()([rated(chains[:5], [1, 1, 1, 0, 0])])) == [(2, 4)]
    assert few_call_pairs()([rated(chains[:4], [1, 1, 1, 0])]) == [], "no incorrect chain with more calls"
    assert few_call_pairs()([rated(chains, [0.5] * 6), rated(chains, [0] * 6)]) == []


def test_pairs_of_independent_samples_by_hand():
    chains = [chain(0, tokens=5), chain(2, tokens=3), chain(0, tokens=9), chain(1, tokens=2), chain(0, tokens=7)]
    assert places(few_call_pairs()([rated(chains, [1, 1, 0, 0, 0])])) == [(1, 2)]
    assert few_call_pairs()([rated(chains[:4], [1, 0, 0.5, 0])]) == [], "no longer incorrect chain"


def slow_pair(chains, outcome):
    best = worst = None
    for i, one in enumerate(chains):
        entropy = one.notes[NOTE][0][0]
        if outcome[i] == 1 and (best is None or (len(one.calls), entropy) < best[0]):
            best = ((len(one.calls), entropy), i)
    for i, one in enumerate(chains):
        key = (len(one.calls), one.notes[NOTE][0][0])
        if best and outcome[i] == 0 and key[0] > best[0][0] and (worst is None or key > worst[0]):
            worst = (key, i)
    return [(best[1], worst[1])] if worst else []


def test_pairs_of_trees_equal_a_slow_loop():
    rng = random.Random(0)
    for _ in range(60):
        chains = [chain(rng.randrange(4), rng.random()) for _ in range(8)]
        outcome = [rng.choice([0, 1]) for _ in chains]
        assert places(few_call_pairs()([rated(chains, outcome)])) == slow_pair(chains, outcome)


def test_read_chains_leaves_out_unscored_chains():
    found = read_chains(rated([chain(k) for k in range(5)], [1, 0, 0.5, np.nan, 1]))
    assert [one.calls for one in found.correct] == [0, 4] and [one.calls for one in found.incorrect] == [1]
    assert found.accuracy == 0.5 and not found.guided
    assert np.isnan(read_chains(rated([chain(1)], [np.nan])).accuracy)
