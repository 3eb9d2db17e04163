import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.ppr.outcome_bounded_steps import outcome_bounded_steps
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.tool_success import tool_success
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.worlds.hops.world import hops

LENGTHS = per_turn(lambda one: [1 / (1 + len(turn.parsed.text)) for turn in one.turns])
CONTRACT = [
    {"process": LENGTHS, "outcome": exact_match()},
    {"process": LENGTHS, "outcome": exact_match(), "bounded": False},
]
LAB = [
    LabCase(
        "outcome_bounded_steps(process=tool_success())",
        hops,
        lambda world: outcome_bounded_steps(process=tool_success(per="turn"), outcome=world.correct),
    ),
]
SILENT = make_group(trajectories=[make_trajectory(texts=[""]), make_trajectory(layouts=["Ut"], id="silent")])


def says(*turns):
    return lambda group: make_scores([0.0] * len(turns), turns=[list(own) for own in turns])


def right(*values):
    return lambda group: make_scores(list(values))


def of(*counts):
    return make_group(trajectories=[make_trajectory(texts=[""] * n, id=str(i)) for i, n in enumerate(counts)])


def test_outcome_bounded_steps_equals_the_worked_example():
    process = says([0.7, 0.4, 0.9], [0.7, 0.4, 0.9])
    scores = outcome_bounded_steps(process=process, outcome=right(1, 0))(of(3, 3))
    assert scores.outcome.tolist() == [1, 0]
    assert scores.turns[0].tolist() == pytest.approx([0.7, 0.4, 0]) and scores.turns[1].tolist() == pytest.approx(
        [-0.3, -0.6, 0]
    )
    naive = outcome_bounded_steps(process=process, outcome=right(1, 0), bounded=False)(of(3, 3))
    assert [own.tolist() for own in naive.turns] == [[0.7, 0.4, 0], [0.7, 0.4, 0]]
    assert naive.outcome.tolist() == [1, 0]


def test_process_scores_never_outweigh_the_outcome():
    """However good the steps of a wrong attempt look, it earns at most 0, and a right one at least 1."""
    rng = np.random.default_rng(0)
    counts = [1, 2, 5, 9, 9, 3]
    said = [rng.random(n) for n in counts]
    whole = right(1, 0, 1, 0, 1, 0)
    scores = outcome_bounded_steps(process=says(*said), outcome=whole)(of(*counts))
    for own, said_N, o in zip(scores.turns, said, scores.outcome, strict=True):
        slow = [float(said_N[k]) + float(o) - 1 for k in range(len(said_N) - 1)] + [0.0]
        assert own.tolist() == pytest.approx(slow)
        assert (o + own.sum() >= 1) if o else (o + own.sum() <= 0)
    naive = outcome_bounded_steps(process=says(*said), outcome=whole, bounded=False)(of(*counts))
    assert naive.turns[3].sum() > naive.outcome[0]


def test_a_single_turn_earns_the_outcome():
    scores = outcome_bounded_steps(process=says([0.3], []), outcome=right(0, 1))(SILENT)
    assert [own.tolist() for own in scores.turns] == [[0.0], []] and scores.outcome.tolist() == [0, 1]


def test_scores_outside_zero_to_one_are_refused():
    with pytest.raises(VerifierError, match="give 0 to 1"):
        outcome_bounded_steps(process=says([1.2, 0]), outcome=right(1))(of(2))
    with pytest.raises(VerifierError, match="give 0 to 1"):
        outcome_bounded_steps(process=says([0.2, 0]), outcome=right(-1))(of(2))
    with pytest.raises(InputError, match="no per-turn values"):
        outcome_bounded_steps(process=outcome(lambda one: 1.0), outcome=right(1))(of(2))
    with pytest.raises(InputError, match="has per-turn values"):
        outcome_bounded_steps(process=says([0.5]), outcome=says([0.5]))(of(1))
