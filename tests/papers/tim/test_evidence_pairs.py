import random

import numpy as np
import pytest
from helpers.explained import TASK, explained

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Group, RatedGroup, Scores
from handaxe.papers.tim.evidence_pairs import evidence_pairs, stated_share

CONTRACT = []
"""It reads the lines of `explained_sums`, whose task random groups lack."""
LINES = ["4+7=11", "11+3=14", "14+5=19", "19+1=20"]


def rated(rollouts, outcomes):
    tokens = tuple(tuple(sequence.mask.astype(np.float64) for sequence in one.sequences) for one in rollouts)
    return RatedGroup.of(Group(TASK, tuple(rollouts)), Scores(np.array(outcomes, np.float64)), Advantages(tokens))


def slow_pair(rollouts, outcomes, gap):
    """Every pair of correct rollouts with a successful call, in loops; the first of the greatest difference."""
    best = None
    for i, a in enumerate(rollouts):
        for j, b in enumerate(rollouts):
            called = [any(reply.status == "ok" for reply in one.replies) for one in (a, b)]
            if outcomes[i] != 1 or outcomes[j] != 1 or not all(called):
                continue
            strength = stated_share(a) - stated_share(b)
            if strength >= gap and (best is None or strength > best[2]):
                best = (i, j, strength)
    return best


def test_share_is_one_less_the_miss_rate():
    assert stated_share(explained("4+7=11,19+1=20:20")) == pytest.approx(0.5, abs=1e-6)
    assert stated_share(explained("4+7=12:20")) == 0 and stated_share(explained("4+7=11,4+7=11:20")) == 0.25


def test_evidence_pairs_matches_its_example():
    texts = [",".join(LINES) + ":20", ",".join(LINES[:2]) + ":20", ":20", ":21"]
    group = [explained(text, calls=1, sample=k) for k, text in enumerate(texts)]
    (pair,) = evidence_pairs()([rated(group, [1, 1, 1, 0])])
    assert (pair.chosen, pair.rejected, pair.strength) == (group[0], group[2], 1.0)


def test_only_correct_rollouts_with_a_successful_call_are_in_a_pair():
    full = ",".join(LINES) + ":20"
    empty = ":20"
    pairs = evidence_pairs()
    assert pairs([rated([explained(full), explained(empty, calls=1, sample=1)], [1, 1])]) == []
    failed = explained(full, calls=1, status="failed")
    assert pairs([rated([failed, explained(empty, calls=1, sample=1)], [1, 1])]) == []
    both = [explained(full, calls=1), explained(empty, calls=1, sample=1)]
    assert pairs([rated(both, [1, 0])]) == [] and pairs([rated(both, [np.nan, 1])]) == []
    assert len(pairs([rated(both, [1, 1])])) == 1


def test_evidence_pairs_equals_a_slow_loop():
    rng = random.Random(0)
    count = 0
    for _ in range(60):
        group = [
            explained(",".join(rng.sample(LINES, rng.randint(0, 4))) + ":20", calls=rng.randint(0, 2), sample=k)
            for k in range(5)
        ]
        outcomes = [float(rng.random() < 0.7) for _ in group]
        gap = rng.choice([0.25, 0.5, 0.75])
        pairs = evidence_pairs(gap=gap)([rated(group, outcomes)])
        wanted = slow_pair(group, outcomes, gap)
        assert [(one.chosen, one.rejected, one.strength) for one in pairs] == (
            [] if wanted is None else [(group[wanted[0]], group[wanted[1]], wanted[2])]
        )
        count += len(pairs)
    assert 10 < count < 60


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="above 0 up to 1"):
        evidence_pairs(gap=0.0)
