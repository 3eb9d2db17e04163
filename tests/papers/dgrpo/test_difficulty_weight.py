import math

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.papers.dgrpo.difficulty_weight import difficulty_weight
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task

CONTRACT = [{}, {"of_task": "exponential", "strength": 0.5, "low": 0.0, "high": 9.0}]
BIAS = [BiasCase("difficulty_weight() of leave_one_out()", leave_one_out, difficulty_weight, groups=2)]


def group(outcome, advantage, kind="easy", id="a"):
    task = make_task(id=id, metadata={"kind": kind})
    made = make_group(size=len(outcome), task=task)
    return make_rated(group=made, scores=make_scores(outcome), advantage=[advantage] * len(outcome))


def levels(rated):
    return [float(one.advantages.tokens[0][0][-1]) for one in rated]


def test_difficulty_weight_matches_its_example():
    batch = [group([1, 0, 0, 0], 1.5), group([1, 1, 1, 0], 0.5)]
    assert levels(difficulty_weight()(batch)) == pytest.approx([2.625, 0.625])
    families = [group([1, 0, 0, 0], 1.0, "hard"), group([1, 1, 1, 0], 1.0, "easy")]
    assert levels(difficulty_weight(family="kind", strength=0.0)(families)) == pytest.approx([1.2449, 0.7551], abs=1e-4)


@pytest.mark.parametrize("of_task", ["linear", "exponential"])
def test_difficulty_weight_matches_a_slow_loop_over_three_steps(of_task):
    rng = np.random.default_rng(0)
    shape = difficulty_weight(family="kind", of_task=of_task, decay=0.6, temperature=0.7, strength=0.8)
    means = {}
    for _ in range(3):
        drawn = [(str(rng.choice(["easy", "hard"])), rng.random(3).tolist()) for _ in range(5)]
        got = levels(shape([group(own, 1.0, kind) for kind, own in drawn]))
        for kind in {kind for kind, _ in drawn}:
            now = [sum(own) / 3 for name, own in drawn if name == kind]
            now = sum(now) / len(now)
            means[kind] = 0.6 * means.get(kind, now) + 0.4 * now
        total = sum(math.exp(-means[kind] / 0.7) for kind, _ in drawn)
        for (kind, own), value in zip(drawn, got, strict=True):
            p = sum(own) / 3
            task = 1 + 0.8 * (1 - p) if of_task == "linear" else math.exp((0.5 - p) / 0.8)
            weight = math.exp(-means[kind] / 0.7) * 5 / total * task
            assert value == pytest.approx(min(2.0, max(0.5, weight)))


def test_difficulty_weight_resumes_from_its_state():
    one, other = difficulty_weight(family="kind"), difficulty_weight(family="kind")
    one([group([1.0, 1.0], 1.0, "easy"), group([0.0, 0.0], 1.0, "hard")])
    assert one.means == {"easy": 1.0, "hard": 0.0}
    one([group([0.0, 0.0], 1.0, "easy")])
    assert one.means == pytest.approx({"easy": 0.9, "hard": 0.0})
    other.load_state_dict(one.state_dict())
    batch = [group([0.5, 0.5], 1.0, "easy"), group([0.5, 0.5], 1.0, "hard")]
    assert levels(other(batch)) == levels(one(batch)) != levels(difficulty_weight(family="kind")(batch))


def test_unscored_and_lone_siblings_and_invalid_arguments():
    shape = difficulty_weight()
    assert levels(shape([group([math.nan, math.nan], 0.0), group([0.5, math.nan], 1.0)])) == [0.0, 1.5]
    assert levels(shape([group([0.5], 1.0)])) == [1.5]  # a lone sibling
    assert levels(shape([group([0.5, 0.5], 0.0)])) == [0.0]
    assert levels(shape([group([-5.0, -5.0], 1.0)])) == [2.0] and levels(shape([group([9.0, 9.0], 1.0)])) == [0.5]
    with pytest.raises(TaskError, match="family"):
        difficulty_weight(family="level")([group([1.0], 1.0)])
    for wrong in (
        {"of_task": "square"},
        {"decay": 1.0},
        {"temperature": 0.0},
        {"low": 3.0},
        {"strength": -1.0},
        {"of_task": "exponential", "strength": 0.0},
    ):
        with pytest.raises(InputError):
            difficulty_weight(**wrong)
