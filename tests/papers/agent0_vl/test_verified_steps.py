import math
from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.agent0_vl.two_roles import Step, Verdict
from handaxe.papers.agent0_vl.verified_steps import verified_steps
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = "scores by the metadata of the task, or passes another reward on; see the methods"


def steps_of(one):
    """As many executed steps as the rollout has turns."""
    return [Step(k, "a", True, k == len(one.turns) - 1, (Verdict("a", 1.0, 0.9),)) for k in range(len(one.turns))]


CONTRACT = [{"steps": steps_of}, {"steps": steps_of, "divergence": 0.1}]
EXAMPLE = [
    Step(0, "a", True, False, (Verdict("a", 0.9, 0.95),)),
    Step(2, "b", False, True, (Verdict("b", 0.4, 0.5),)),
]


def scored(steps, answer="1", **knobs):
    task = make_task(answer=answer)
    group = make_group(task=task, trajectories=[make_trajectory(task=task)])
    return verified_steps(steps=lambda one: steps, **knobs)(group).outcome.tolist()[0]


def test_reward_matches_the_worked_example():
    assert scored(EXAMPLE) == pytest.approx(2.3056, abs=5e-5)


@pytest.mark.parametrize("tau", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("beta", [0.0, 0.2])
def test_reward_matches_a_loop_over_steps(tau, gamma, beta):
    steps = [
        Step(0, "a", True, False, (Verdict("b", -1.0, 0.2), Verdict("a", 1.0, 0.8)), 1.5),
        Step(3, "c", False, False, ()),
        Step(5, "d", True, False, (Verdict("", 0.0, 0.0),), -0.25),
        Step(7, "e", False, True, (Verdict("f", -1.0, 0.6),), 3.0),
    ]
    total, discount = 0.0, 1.0
    for step in steps:
        last = step.verdicts[-1] if step.verdicts else Verdict("", 0.0, 0.0)
        first = step.verdicts[0] if step.verdicts else last
        gate = 1 / (1 + math.exp(-4.0 * (tau - first.confidence)))
        total += discount * ((0.3 if step.tool else 0.0) + last.score * last.confidence - gate * 0.1)
        total -= discount * beta * step.divergence
        discount *= gamma
    knobs = {"confidence": tau, "gamma": gamma, "cost": 0.1, "sharpness": 4.0, "divergence": beta}
    assert scored(steps, **knobs) == pytest.approx(total, abs=1e-12)


DIVERGENT = [EXAMPLE[0]._replace(divergence=0.8), EXAMPLE[1]._replace(divergence=0.5)]


def test_the_divergence_matches_the_worked_example():
    """2.3056 - 0.1 * (0.8 + 0.99 * 0.5) = 2.1761; a negative estimate adds."""
    assert scored(DIVERGENT, divergence=0.1) == pytest.approx(2.1761, abs=5e-5)
    below = [EXAMPLE[0]._replace(divergence=-0.4), EXAMPLE[1]]
    assert scored(below, divergence=0.1) - scored(EXAMPLE) == pytest.approx(0.04)


def test_the_channel_is_the_mean_over_steps_with_a_verdict():
    steps = [*DIVERGENT, Step(4, "c", False, True)]
    group = make_group(trajectories=[make_trajectory()])
    assert verified_steps(steps=lambda one: steps, divergence=0.1)(group).channels["divergence"].tolist() == [0.65]
    assert verified_steps(steps=lambda one: [], divergence=0.1)(group).channels["divergence"].tolist() == [0.0]
    assert not verified_steps(steps=lambda one: steps)(group).channels


def test_without_a_weight_the_divergence_plays_no_part():
    assert scored(DIVERGENT) == scored(DIVERGENT, divergence=0.0) == scored(EXAMPLE)
    assert scored(EXAMPLE, divergence=0.1) == scored(EXAMPLE), "a step without a measure"


def test_a_rejected_answer_earns_no_outcome():
    last = EXAMPLE[1]._replace(verdicts=(Verdict("c", -0.4, 0.5),))
    assert scored(EXAMPLE) - scored([EXAMPLE[0], last]) == pytest.approx(1 + 0.99 * 0.4)


def test_an_answer_without_a_verdict_or_no_answer_earns_no_outcome():
    unjudged = [EXAMPLE[0], EXAMPLE[1]._replace(verdicts=())]
    unanswered = [EXAMPLE[0], EXAMPLE[1]._replace(final=False)]
    knobs = {"final": 10.0}
    assert scored(unjudged, **knobs) < 2 and scored(unanswered, **knobs) < 2 < scored(EXAMPLE, **knobs)
    assert scored([]) == 0


def test_the_reference_answer_plays_no_part():
    assert scored(EXAMPLE, answer="1") == scored(EXAMPLE, answer="2")
    group = make_group(trajectories=[make_trajectory()])
    unlabelled = replace(group, task=replace(group.task, answer=None))
    assert verified_steps()(unlabelled).outcome.tolist() == [0.0]


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="gamma is 2"):
        verified_steps(gamma=2)
    with pytest.raises(InputError, match="confidence 1.5"):
        verified_steps(confidence=1.5)
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(InputError, match=f"divergence is {wrong}"):
            verified_steps(divergence=wrong)
