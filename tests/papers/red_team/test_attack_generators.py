from collections import Counter

import numpy as np

from handaxe.papers.red_team.attack_generators import FixedList, GuidedMutation, RandomMutation
from handaxe.papers.red_team.attack_texts import SEEDS, seed_attacks


def test_the_fixed_list_repeats_its_seeds():
    fixed = FixedList()
    found = [fixed.propose() for _ in range(30)]
    assert found == [*seed_attacks(), *seed_attacks()[:6]]


def test_random_mutation_uses_two_strategies():
    found = RandomMutation(np.random.default_rng(0))
    assert {len(found.propose().strategies) for _ in range(20)} == {2}


def test_guided_mutation_learns_the_strategy_that_works():
    guided = GuidedMutation(np.random.default_rng(0))
    used = Counter()
    for number in range(60):
        attack = guided.propose()
        if number >= 30:
            used.update(attack.strategies)
        # no kind counts as found, so that all kinds stay open
        for one in attack.strategies:
            (guided._successes if one == "authority" else guided._failures)[one] += 1
    assert used.most_common(1)[0][0] == "authority" and used["authority"] >= 25


def test_found_kinds_are_left_alone_until_all_are_found():
    guided = GuidedMutation(np.random.default_rng(0))
    kinds = []
    for _ in SEEDS:
        attack = guided.propose()
        kinds.append(attack.kind)
        guided.learn(attack, found=True)
    assert set(kinds) == SEEDS.keys()
    assert guided.propose().kind in SEEDS


def test_attacks_are_not_repeated_while_others_are_left():
    guided = GuidedMutation(np.random.default_rng(1))
    found = [guided.propose() for _ in range(60)]
    assert len(set(found)) >= 58
