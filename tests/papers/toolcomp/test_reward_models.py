import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.scenes import play, script
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.toolcomp.reward_models import CHOICES, fit_reward_model, rollout_scores
from handaxe.testing.make_records import make_rated
from handaxe.worlds.fact_chains import fact_chains

WORLD = fact_chains()


def groups_of(count):
    made = []
    for task in WORLD.tasks("train", count, 0):
        right = play(WORLD, WORLD.tools, task, WORLD.expert, id="right")
        wrong = play(WORLD, WORLD.tools, task, script("77"), id="wrong")
        made.append(make_rated(group=Group(task, (right, wrong)), outcome=[1.0, 0.0]))
    return made


def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=256), seed=0))


@pytest.mark.parametrize("unit", ["trajectory", "action", "step"])
def test_a_fitted_model_separates_its_lessons(unit):
    groups = groups_of(4)
    judge = fit_reward_model(engine(), groups, unit=unit, epochs=30, learning_rate=0.01)
    found = rollout_scores(judge, groups, unit=unit)
    assert set(found) == ({"outcome"} if unit == "trajectory" else set(CHOICES))
    for own in found.values():
        assert all(right > wrong for right, wrong in own)


class Steps:
    def score_steps(self, group):
        return tuple(np.array([0.9, 0.2, 0.95]) if one.id == "a" else np.array([0.7] * 3) for one in group)


def test_aggregates_of_the_paper_by_hand():
    """A = .9, .2, .95 and B = .7, .7, .7: min, prod and mean prefer B, max prefers A."""
    (one,) = groups_of(1)
    pair = tuple(type(one.group[0])(**{**one.group[0].__dict__, "id": name}) for name in "ab")
    found = rollout_scores(Steps(), [make_rated(group=Group(one.group.task, pair), outcome=[1.0, 0.0])], unit="action")
    expected = {
        "min": (0.2, 0.7),
        "max": (0.95, 0.7),
        "mean": (2.05 / 3, 0.7),
        "prod": (0.171, 0.343),
        "last": (0.95, 0.7),
    }
    for name, (first, second) in expected.items():
        assert found[name][0].tolist() == pytest.approx([first, second], abs=1e-6)
