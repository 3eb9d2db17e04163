import numpy as np

from handaxe.papers.gated.withheld import withheld
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "a channel without weight, for the figure that shows the mechanism at work"

CONTRACT = [
    {
        "outcome": outcome(lambda one: float(one.final_text == "4")),
        "steps": outcome(lambda one: len(one.calls)),
        "gate": 0.5,
    }
]
TABLE = {"open": (-1.0, 4.0), "changed": (0.5, 4.0), "idle": (0.0, 0.0), "empty": (0.0, -1.0)}
GROUP = make_group(trajectories=[make_trajectory(texts=[name]) for name in TABLE])


def shares(gate):
    parts = [outcome(lambda one, k=k: TABLE[one.final_text][k]) for k in range(2)]
    return withheld(outcome=parts[0], steps=parts[1], gate=gate)(GROUP).outcome


def test_withheld_is_1_at_or_below_the_gate_for_rollouts_with_steps():
    assert list(shares(0.0)) == [1, 0, 0, 1]
    assert list(shares(0.5)) == [1, 1, 0, 1]


def test_an_open_gate_withholds_nothing():
    assert not np.any(shares(-2.0))
