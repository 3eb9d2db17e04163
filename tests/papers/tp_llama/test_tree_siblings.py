import random
from dataclasses import replace

import pytest
import torch
from helpers.tree_play import WORDS, play_tree, words_of

from handaxe.core.batch import PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.dpo import dpo
from handaxe.papers.tp_llama.decision_tree import TREE
from handaxe.papers.tp_llama.tree_siblings import tree_siblings
from handaxe.training.loop.batch import make_batch
from handaxe.training.sft.supervised import as_rated

CONTRACT = []
"""It reads the notes of `decision_tree`, which random groups lack."""


def told(pairs):
    return [(words_of(pair.chosen), words_of(pair.rejected)) for pair in pairs]


def slow_pairs(group, unit):
    """Turn after turn of the success path, siblings by their seeds, in loops."""
    success = [one for one in group if one.notes[TREE]["success"]]
    out = []
    for k in range(len(success[0].turns) if success else 0):
        seen = []
        for one in group:
            if len(one.turns) <= k or one is success[0]:
                continue
            same = True
            for j in range(k):
                same = same and one.turns[j].seed == success[0].turns[j].seed
            if not same or one.turns[k].seed == success[0].turns[k].seed or one.turns[k].seed in seen:
                continue
            chosen, rejected = words_of(success[0]), words_of(one)
            if chosen[k] == rejected[k]:
                continue
            if unit == "step":
                seen.append(one.turns[k].seed)
                chosen, rejected = chosen[: k + 1], rejected[: k + 1]
            out.append((chosen, rejected))
    return out


def test_pairs_of_the_entry_by_hand():
    """Root -> a (fails), b; b -> c (fails), d (success): pairs b > a and d > c behind b."""
    rated = [as_rated(play_tree(WORDS))]
    assert told(tree_siblings()(rated)) == [(["2"], ["x"]), (["2", "yes"], ["2", "no"])]
    assert told(tree_siblings(unit="path")(rated)) == [(["2", "yes"], ["x"]), (["2", "yes"], ["2", "no"])]


def test_a_failed_subtree_is_one_step_and_several_paths():
    found = play_tree(["1", "no", "x", "2", "yes"], children=2)
    assert told(tree_siblings()([as_rated(found)])) == [(["2"], ["1"])]
    paths = told(tree_siblings(unit="path")([as_rated(found)]))
    assert paths == [(["2", "yes"], ["1", "no"]), (["2", "yes"], ["1", "x"])]


def test_tree_siblings_equals_a_slow_loop():
    rng = random.Random(1)
    count = 0
    for n in range(30):
        words = [rng.choice(["x", "1", "2", "3", "no", "yes"]) for _ in range(12)]
        found = play_tree(words, children=rng.randint(2, 3), nodes=12, max_turns=3, seed=n)
        for unit in ("step", "path"):
            pairs = told(tree_siblings(unit=unit)([as_rated(found)]))
            assert pairs == slow_pairs(found, unit)
            count += len(pairs)
    assert count > 20


def test_dpo_of_the_entry_trains_the_step_alone():
    """beta 0.5, log-ratios 0.4 and -0.2: loss -log sigmoid(0.3) = 0.5544; shared tokens cancel."""
    pair = tree_siblings()([as_rated(play_tree(WORDS))])[1]
    batch = make_batch([as_rated([pair.chosen, pair.rejected])], pad_id=0)
    first, stop = pair.chosen.turns[1].start, pair.chosen.turns[1].stop
    assert pair.chosen.sequences[0].ids[:first].tolist() == pair.rejected.sequences[0].ids[:first].tolist()
    ratio_BT = torch.zeros(batch.ids_BT.shape, dtype=torch.float64)
    places = [torch.nonzero(batch.mask_BT[row]).flatten() for row in (0, 1)]
    ratio_BT[0, places[0][-1]], ratio_BT[1, places[1][-1]] = 0.4, -0.2
    batch = replace(batch, extras={**batch.extras, "ref_logp": torch.zeros_like(ratio_BT)})
    loss = dpo(beta=0.5)
    assert float(loss(PolicyOut(ratio_BT, None), batch).value) == pytest.approx(0.554355, abs=1e-6)
    shared = places[0][0]
    ratio_BT[:, shared] -= 3.0
    assert stop > first > shared
    assert float(loss(PolicyOut(ratio_BT, None), batch).value) == pytest.approx(0.554355, abs=1e-6)


def test_equal_turns_and_trees_without_a_success_have_no_pair():
    assert tree_siblings()([as_rated(play_tree(["1", "x", "no", "1", "yes"], children=2))]) == []
    assert tree_siblings()([as_rated(play_tree(["x", "no", "x"]))]) == []


def test_bad_input_says_what_to_do():
    found = play_tree(WORDS)
    with pytest.raises(InputError, match="not of decision_tree"):
        tree_siblings()([as_rated([replace(one, notes={}) for one in found])])
    with pytest.raises(InputError, match="step or path"):
        tree_siblings(unit="turn")
