import pytest

from handaxe import losses
from handaxe.core.records import Group, Pair
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.preference_model import preference_model
from handaxe.evaluation.scenes import play, script
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.worlds.fact_chains import fact_chains

WORLD = fact_chains()


@pytest.fixture(scope="module")
def pairs():
    made = []
    for task in WORLD.tasks("train", 4, 0):
        right = play(WORLD, WORLD.tools, task, WORLD.expert, id="right")
        made.append(Pair(right, play(WORLD, WORLD.tools, task, script("77"), id="wrong")))
    return made


def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=256), seed=0))


@pytest.mark.parametrize(("count", "presented", "passes"), [(4, 40, 10), (4, 1, 1), (2, 40, 20), (0, 40, 0)])
def test_fewer_pairs_take_more_passes(pairs, count, presented, passes):
    model = preference_model(engine(), pairs[:count], presented=presented, learning_rate=0.01)
    assert model._own.version == passes


def test_chosen_sides_score_above_rejected_ones(pairs):
    groups = [Group(pair.chosen.task, (pair.chosen, pair.rejected)) for pair in pairs]
    fitted = preference_model(engine(), pairs, presented=80, learning_rate=0.01)
    even = preference_model(engine(), pairs, presented=80, learning_rate=0.01, loss=losses.preference.neutral())
    gaps = [[own[0] - own[1] for own in map(model.score, groups)] for model in (fitted, even)]
    assert min(gaps[0]) > 0.1 > max(map(abs, gaps[1]))
