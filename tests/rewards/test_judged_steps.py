from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Stateful
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.attack_trials import LabCase
from handaxe.judges.implicit_prm import ImplicitPrm, implicit_prm
from handaxe.judges.step_status import step_status
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.testing.rewards import check_reward
from handaxe.training.loop.rate import rewinder
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"judge": step_status()}]
LAB = [
    LabCase(
        "judged_steps(judge=step_status())",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: judged_steps(judge=step_status()),
    ),
]


class Says:
    def __init__(self, *steps):
        self.steps = [np.array(own) for own in steps]

    def score_steps(self, group):
        return tuple(self.steps)


def group(*turns):
    return make_group(trajectories=[make_trajectory(texts=["x"] * n, id=f"a-{n}", logp=-5.0) for n in turns])


def learned():
    """A judge with trained weights."""
    engine = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96)), reference=True)
    judge = implicit_prm(engine=engine, learning_rate=0.01)
    for _ in range(3):
        judge.fit([(group(3, 1), weighted({"x": (1.0, outcome(lambda one: len(one.turns) > 1))})(group(3, 1)))])
    return judge


def test_judged_steps_matches_the_docstring_example():
    scores = judged_steps(judge=Says([0.1, -0.05, 0.1], [0.2]))(group(3, 1))
    assert [own.tolist() for own in scores.turns] == [[0.1, -0.05, 0.1], [0.2]] and scores.outcome.tolist() == [0, 0]


def test_steps_and_outcome_stay_separate():
    right = outcome(lambda one: 1.0)
    both = weighted({"correct": (1.0, right), "steps": (0.5, judged_steps(judge=Says([0.2], [0.4])))})(group(1, 1))
    assert both.outcome.tolist() == both.channels["correct"].tolist() == [1, 1]
    assert [own.tolist() for own in both.turn_channels["steps"]] == [[0.2], [0.4]]
    assert [own.tolist() for own in both.turns] == [[0.1], [0.2]]


def test_a_batched_judge_keeps_the_contract_up_to_rounding():
    judge = learned()
    check_reward(judged_steps(judge=judge), group(1, 2, 3), tolerance=1e-6)
    assert np.abs(np.concatenate(judge.score_steps(group(1, 2, 3)))).min() > 1e-4


def test_the_judge_is_not_copied_changed_or_saved(monkeypatch):
    judge, copied = learned(), []
    monkeypatch.setattr(ImplicitPrm, "__deepcopy__", lambda self, memo: copied.append(self) or self, raising=False)
    reward = weighted({"correct": (1.0, outcome(lambda one: 1.0)), "steps": (1.0, judged_steps(judge=judge))})
    before = judge.state_dict()["engine"]["tensors"]
    assert not isinstance(judged_steps(judge=judge), Stateful) and reward.state_dict() == {}
    rewind = rewinder(reward)
    _, scores = score_group(reward, group(1, 2))
    rewind()
    assert scores.turns[0].any() and not copied
    after = judge.state_dict()["engine"]["tensors"]
    assert before.keys() == after.keys() and all(before[name].equal(after[name]) for name in before)


def test_an_invalid_judge_is_an_error():
    with pytest.raises(InputError, match="Says gives scores of shapes"):
        judged_steps(judge=Says([0.1], [0.2]))(group(2, 1))
    with pytest.raises(VerifierError, match="step scores") as caught:
        judged_steps(judge=Says([0.1], [np.nan]))(group(1, 1))
    assert caught.value.trajectory == group(1, 1)[1].id
    with pytest.raises(InputError, match="float lacks"):
        judged_steps(judge=1.0)
