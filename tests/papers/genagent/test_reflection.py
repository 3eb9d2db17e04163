import random
from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.genagent.reflection import reflection
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "reads the qualities of drawings, which the world's own scenes do not have; genagent has a row"
CONTRACT = [{"qualities": lambda one: [0.4, 0.7][: len(one.turns)]}]


def rollouts(*qualities):
    made = [make_trajectory(id=str(i), sample=i) for i in range(len(qualities))]
    return make_group(trajectories=[replace(one, notes={"q": list(q)}) for one, q in zip(made, qualities)])


def scored(*qualities, good=1.0):
    return reflection(qualities=lambda one: one.notes["q"], good=good)(rollouts(*qualities)).outcome.tolist()


def test_reflection_matches_its_example():
    assert scored([0.4, 0.7], [0.7, 0.7], [0.4, 0.7, 0.5], [1.0], [0.9], []) == [1, 0, 0.5, 1, 0, 0]
    assert scored([0.9], good=0.9) == [1]


def test_the_sum_with_the_quality_by_hand():
    """Qualities 0.4 and 0.7: 0.7 for the last image, and 0.5 for a refinement that is better."""
    parts = {
        "quality": (1.0, outcome(lambda one: one.notes["q"][-1])),
        "reflection": (0.5, reflection(qualities=lambda one: one.notes["q"])),
    }
    assert weighted(parts)(rollouts([0.4, 0.7])).outcome.tolist() == pytest.approx([1.2], abs=1e-12)


def test_reflection_equals_a_slow_loop():
    rng = random.Random(0)
    for _ in range(50):
        q = [rng.choice([0, 1 / 3, 2 / 3, 1]) for _ in range(rng.randint(0, 5))]
        wins = total = 0
        for k in range(len(q)):
            if k == 0:
                continue
            total += 1
            if q[k] > q[k - 1]:
                wins += 1
        expected = wins / total if total else float(len(q) == 1 and q[0] >= 1)
        assert scored(q) == [pytest.approx(expected, abs=1e-12)]


def test_reflection_rejects_an_infinite_quality():
    with pytest.raises(InputError, match="finite"):
        reflection(qualities=lambda one: [], good=float("inf"))
