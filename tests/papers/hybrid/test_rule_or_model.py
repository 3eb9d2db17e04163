import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.hybrid.rule_or_model import CONFIDENCE, rule_or_model
from handaxe.papers.hybrid.text_similarity import text_similarity
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rewards.overlong import overlong
from handaxe.rewards.parts.extract import last_number
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.tools.index.dense import embed
from handaxe.worlds.arithmetic import arithmetic

TASK = make_task(answer="4")
MODEL = outcome(lambda one: 0.4)
SURE = outcome(lambda one: 0.8 if one.final_text.isdigit() else 0.0)
RULE = weighted({"right": (1.0, exact_match()), CONFIDENCE: (0.0, SURE)})
CONTRACT = [{"rule": RULE, "model": MODEL}, {"rule": RULE, "model": MODEL, "trust": 0.5}]


def rule_and_model(world):
    """Correctness, with the confidence of the rule, as in the method hybrid."""
    confident = outcome(lambda one: float(bool(last_number(one))))
    rule = weighted({"right": (1.0, world.correct), CONFIDENCE: (0.0, confident)})
    return rule_or_model(rule=rule, model=text_similarity(encode=embed), trust=0.8)


LAB = [
    LabCase(
        "rule_or_model(..., trust=0.8)",
        arithmetic,
        rule_and_model,
        model=True,
        why="The model part of the reward changes.",
    ),
]


def group(*texts):
    return make_group(task=TASK, trajectories=[make_trajectory(texts=[text], task=TASK) for text in texts])


def test_rule_or_model_mixes_by_confidence():
    scores = rule_or_model(rule=RULE, model=MODEL)(group("4", "5", "four"))
    np.testing.assert_allclose(scores.outcome, [0.88, 0.08, 0.4])
    assert scores.channels["rule/confidence"].tolist() == [0.8, 0.8, 0.0]
    assert scores.channels["model"].tolist() == [0.4] * 3


def test_trust_of_zero_uses_only_the_model():
    assert rule_or_model(rule=RULE, model=MODEL, trust=0.0)(group("4", "5")).outcome.tolist() == [0.4, 0.4]


def test_rule_or_model_with_a_length_penalty_equals_the_worked_example():
    """Half as long again as the target, and half of the weight of a penalty that is full at twice the target."""
    long = make_trajectory(layouts=["U" + "p" * 15], texts=["4"], task=TASK)
    accuracy, penalty = rule_or_model(rule=RULE, model=MODEL), overlong(limit=20, cache=10)
    reward = weighted({"accuracy": (1.0, accuracy), "long": (0.5, penalty)})
    np.testing.assert_allclose(reward(make_group(task=TASK, trajectories=[long])).outcome, [0.63])


def test_rule_or_model_refuses_bad_trust_and_bad_confidence():
    with pytest.raises(InputError, match="trust is 2"):
        rule_or_model(rule=RULE, model=MODEL, trust=2)
    with pytest.raises(InputError, match="no channel 'confidence'"):
        rule_or_model(rule=exact_match(), model=MODEL)(group("4"))
    boastful = weighted({"right": (1.0, exact_match()), CONFIDENCE: (0.0, outcome(lambda one: 1.5))})
    with pytest.raises(VerifierError, match="outside") as found:
        rule_or_model(rule=boastful, model=MODEL)(group("4"))
    assert found.value.trajectory == "task-0/0/0"
    with pytest.raises(InputError, match="per-turn"):
        rule_or_model(rule=RULE, model=per_turn(lambda one: [1.0] * len(one.turns)))(group("4"))
