import random
from dataclasses import replace

import pytest
import torch
from helpers.step_play import WORDS, play

from handaxe.core.batch import PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.dpo import dpo
from handaxe.papers.sport.step_candidates import CANDIDATES
from handaxe.papers.sport.step_pairs import step_pairs
from handaxe.training.loop.batch import make_batch
from handaxe.training.sft.supervised import as_rated

CONTRACT = []
"""It reads the notes of `step_candidates`, which random groups lack."""


def words(one):
    return [turn.parsed.calls[0].arguments["text"] if turn.parsed.calls else turn.parsed.text for turn in one.turns]


def told(pairs):
    return [(words(pair.chosen), words(pair.rejected), pair.strength) for pair in pairs]


def slow_pairs(groups, gap):
    """Turn after turn, candidates by their seeds, in loops."""
    out = []
    for group in groups:
        depth = max(len(one.turns) for one in group)
        for k in range(depth):
            seen, candidates = [], []
            for one in group:
                if len(one.turns) <= k or one.turns[k].seed in seen or one.notes[CANDIDATES][k] is None:
                    continue
                seen.append(one.turns[k].seed)
                candidates.append((one.notes[CANDIDATES][k], words(one)[: k + 1]))
            best = None
            for candidate in candidates:
                if best is None or candidate[0] > best[0]:
                    best = candidate
            for candidate in candidates:
                if best[0] - candidate[0] > gap:
                    out.append((best[1], candidate[1], best[0] - candidate[0]))
    return out


def test_step_pairs_matches_its_example():
    pairs = step_pairs()([as_rated(play(["2", "5", "1"], max_turns=1))])
    assert told(pairs) == [(["5"], ["2"], 3.0), (["5"], ["1"], 4.0)]


def test_pairs_of_a_rollout_by_hand():
    """Turns scored 2 5 1, then 4 6 6, then 9 3 8: equal candidates make no pair."""
    pairs = told(step_pairs()([as_rated(play(WORDS))]))
    wanted = [(["5"], ["2"], 3.0), (["5"], ["1"], 4.0), (["5", "6"], ["5", "4"], 2.0)]
    wanted += [(["5", "6", "a9"], ["5", "6", "b3"], 6.0), (["5", "6", "a9"], ["5", "6", "8"], 1.0)]
    key = str
    assert sorted(pairs, key=key) == sorted(wanted, key=key)
    assert sorted(told(step_pairs(gap=2.5)([as_rated(play(WORDS))])), key=key) == sorted(
        [one for one in wanted if one[2] > 2.5], key=key
    )


def test_step_pairs_equals_a_slow_loop():
    rng = random.Random(0)
    for n in range(12):
        said = [rng.choice(["1", "2", "3", "4", "a5", "b6"]) for _ in range(40)]
        found = play(said, samples=rng.randint(2, 4), max_turns=3, seed=n)
        gap = rng.choice([0.0, 1.5])
        assert told(step_pairs(gap=gap)([as_rated(found)])) == slow_pairs([found], gap)


def test_candidates_without_a_score_are_in_no_pair():
    found = [replace(one, notes={CANDIDATES: [None] * len(one.turns)}) for one in play(WORDS)]
    assert step_pairs()([as_rated(found)]) == []
    with pytest.raises(InputError, match="not of step_candidates"):
        step_pairs()([as_rated([replace(one, notes={}) for one in found])])
    with pytest.raises(InputError, match="gap of at least 0"):
        step_pairs(gap=-1.0)


def test_only_tokens_of_the_step_train():
    """The gradient of DPO by the log-probs: equal and opposite at shared tokens, which are one number in a model."""
    pair = next(pair for pair in step_pairs()([as_rated(play(WORDS))]) if len(pair.chosen.turns) == 2)
    batch = make_batch([as_rated([pair.chosen, pair.rejected])], pad_id=0)
    shared = pair.chosen.turns[1].start
    assert pair.chosen.sequences[0].ids[:shared].tolist() == pair.rejected.sequences[0].ids[:shared].tolist()
    torch.manual_seed(0)
    logp_BT = -torch.rand(batch.ids_BT.shape, dtype=torch.float64)
    logp_BT[1, :shared] = logp_BT[0, :shared]
    batch = replace(batch, extras={**batch.extras, "ref_logp": torch.zeros_like(logp_BT)})

    def value(x_BT):
        return dpo(beta=0.1)(PolicyOut(x_BT, None), batch).value

    leaf = logp_BT.clone().requires_grad_()
    value(leaf).backward()
    assert (leaf.grad[0, :shared] + leaf.grad[1, :shared]).abs().max() < 1e-12
    assert leaf.grad[0, shared:].abs().max() > 0 and leaf.grad[1, shared:].abs().max() > 0
    moved = logp_BT.clone()
    moved[:, :shared] -= 3.0
    assert abs(float(value(moved) - value(logp_BT))) < 1e-9
