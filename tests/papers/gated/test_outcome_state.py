import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.gated.outcome_state import OUTCOMES, outcome_state
from handaxe.papers.gated.workspace import final_state, workspace
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.turns_to_outcome import turns_to_outcome
from handaxe.testing.make_records import make_group, make_trajectory


def left(one):
    return one.env.get("left", "open" if one.env else "resolved")


CONTRACT = [{"state": left}]
LAB = [
    LabCase(
        "outcome_state(...)",
        workspace,
        lambda world: outcome_state(state=final_state),
        why="The final state is correct after the additional actions, so the task is solved.",
    ),
]


def group_of(*states, turns=1):
    return make_group(trajectories=[make_trajectory(texts=["x"] * turns, env={"left": state}) for state in states])


def test_outcome_state_matches_its_example():
    assert outcome_state(state=left)(group_of(*OUTCOMES)).outcome.tolist() == [-1, 0, 0.5, 1]


def test_the_gated_reward_matches_the_paper_by_hand():
    """Outcome 0.5 and steps 0.1, 0.1, -0.1 behind a gate of 0 is 0.6; -1 and twenty steps of 0.1 is -1, and 1 without
    a gate."""

    def gated(steps, above):
        earned = turns_to_outcome(per_turn(lambda one: steps))
        return ladder([Rung("outcome", outcome_state(state=left), above=above), Rung("steps", earned)])

    assert gated([0.1, 0.1, -0.1], 0.0)(group_of("changed", turns=3)).outcome.tolist() == pytest.approx([0.6])
    assert gated([0.1] * 20, 0.0)(group_of("open", turns=20)).outcome.tolist() == [-1.0]
    assert gated([0.1] * 20, -2.0)(group_of("open", turns=20)).outcome.tolist() == pytest.approx([1.0])

    # Where steps add up to more than the outcome, an attempt that never submits earns more than one that soon does.
    late, soon = group_of("open", turns=8), group_of("resolved", turns=4)
    earned = {
        above: [gated([1.0] * n, above)(g).outcome[0] for n, g in ((8, late), (4, soon))] for above in (-2.0, 0.0)
    }
    assert earned == {-2.0: [7.0, 5.0], 0.0: [-1.0, 5.0]}


def test_unknown_states_and_infinite_values_are_rejected():
    with pytest.raises(InputError, match="lost"):
        outcome_state(state=left)(group_of("lost"))
    with pytest.raises(InputError, match="finite"):
        outcome_state(state=left, values={"open": float("nan")})
