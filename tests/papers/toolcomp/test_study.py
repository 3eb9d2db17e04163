import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.evaluation.scenes import play, script
from handaxe.papers.toolcomp import _placed, _rank_figures
from handaxe.papers.toolcomp.reward_models import CHOICES
from handaxe.testing.make_records import make_rated
from handaxe.worlds.fact_chains import fact_chains

WORLD = fact_chains()


def group(task):
    right = play(WORLD, WORLD.tools, task, WORLD.expert, id="right")
    wrong = play(WORLD, WORLD.tools, task, script("77"), id="wrong")
    return make_rated(group=Group(task, (right, wrong)), outcome=[1.0, 0.0])


def test_rank_figures_by_hand():
    """Two tasks: the outcome model is right at one, the process model at both."""
    groups = [group(task) for task in WORLD.tasks("test", 2, 0)]
    best, worst = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    process = {name: [best, best] for name in CHOICES}
    scores = {"trajectory": {"outcome": [best, worst]}, "action": process, "step": {**process, "max": [worst, worst]}}
    found = _rank_figures(scores, groups)
    assert found["answers"] == found["rank1/random"] == 0.5 and found["rank1/oracle"] == 1.0
    assert found["rank1/orm"] == 0.5 and found["rank1/action/min"] == 1.0 and found["rank1/step/max"] == 0.0
    assert found["gain/prm"] == pytest.approx(0.5) and found["gain/prm_max"] == pytest.approx(-0.5)
    assert found["gain/orm"] == pytest.approx(0.0)
    right = sum(len(one.group[0].turns) for one in groups)
    assert found["steps"] == pytest.approx(right / (right + 2))


@pytest.mark.parametrize("key, name", [("choice", "choice/weak"), ("rank1/step/max", "rank1/weak/step/max")])
def test_the_generator_is_the_second_part_of_a_name(key, name):
    assert _placed(key, "weak") == name
