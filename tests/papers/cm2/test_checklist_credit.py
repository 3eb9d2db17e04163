from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Scores
from handaxe.papers.cm2.checklist_credit import checklist_credit
from handaxe.testing.credit import check_credit
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = [{}]
BIAS = "tasks of the process have no criteria"
OVER_TURNS = True


def pair(sizes=(2, 2)):
    return make_group(layouts=["Ut" + "tTt".join(["pp"] * n) for n in sizes])


def scores_of(items, weights, checklists, outcome=None):
    channels = {"checklist": checklists}
    channels |= {f"item/{name}": values for name, values in items.items()}
    channels |= {f"weight/{name}": values for name, values in weights.items()}
    channels = {name: tuple(np.array(own, float) for own in values) for name, values in channels.items()}
    turns = channels["checklist"]
    return Scores(np.array(outcome or [0.0] * len(turns)), turns=turns, turn_channels=channels)


EXAMPLE = scores_of(
    {"c1": [[1, 0], [1, 1]], "c2": [[1, 1], [0, 0]]},
    {"c1": [[0.6, 0], [0.6, 0.6]], "c2": [[0.4, 0.4], [0.4, 0.4]]},
    [[0.6, 0.4], [0, 0.6]],
)


def by_turn(credit, group, scores):
    said = credit(group, scores)
    return [[row[turn.start] for turn in one.turns] for one, (row,) in zip(group, said.tokens)]


def test_checklist_credit_matches_its_example():
    group = pair()
    for assign in ("trajectory", "turn"):
        found = by_turn(checklist_credit(assign=assign), group, EXAMPLE)
        np.testing.assert_allclose(found, [[0.2, 0.2], [-0.2, -0.2]], atol=1e-12)
    found = by_turn(checklist_credit(assign="step"), group, EXAMPLE)
    np.testing.assert_allclose(found, [[0.2, 0.5], [-0.2, -0.2]], atol=1e-12)


def test_a_user_turn_is_centred_over_the_rollouts_that_reached_it():
    group = pair((2, 2, 1))
    members = []
    for one in group:
        first, turn, *rest = one.messages
        members.append(replace(one, messages=(first, turn, Message("user", "more?"), *rest)) if rest else one)
    group = replace(group, trajectories=tuple(members))
    earned = [[1.0, 1.0], [0.0, 0.5], [0.5]]
    found = by_turn(checklist_credit(assign="turn"), group, scores_of({}, {}, earned))
    assert found == [[0.5, 0.25], [-0.5, -0.25], [0.0]]


def test_a_turn_that_can_earn_nothing_gets_0():
    scores = scores_of({"c": [[1, 0], [0, 0]]}, {"c": [[1, 0], [1, 1]]}, [[1, 0], [0, 0]])
    assert by_turn(checklist_credit(assign="step"), pair(), scores) == [[0.5, 0], [-0.5, -0.5]]


@pytest.mark.parametrize("assign", ["trajectory", "turn", "step"])
def test_lone_equal_and_unscored_siblings_get_0(assign):
    credit = checklist_credit(assign=assign)
    group = make_group(trajectories=[pair()[0]])
    alone = scores_of({"c1": [[1, 0]]}, {"c1": [[1, 0]]}, [[1, 0]])
    assert by_turn(credit, group, alone) == [[0, 0]]
    nothing = [np.nan, np.nan]
    more = scores_of(
        {"c1": [[1, 0], nothing, [0, 0]]}, {"c1": [[1, 0], nothing, [1, 1]]}, [[1, 0], nothing, [0, 0]], [0, np.nan, 0]
    )
    found = by_turn(credit, pair((2, 2, 2)), more)
    without = scores_of({"c1": [[1, 0], [0, 0]]}, {"c1": [[1, 0], [1, 1]]}, [[1, 0], [0, 0]])
    assert found[1] == [0, 0] and [found[0], found[2]] == by_turn(credit, pair(), without)


@pytest.mark.parametrize("assign", ["turn", "step"])
def test_checklist_credit_by_turn_and_step_keeps_the_contract(assign):
    """The scores of the contract have no criteria: two are made of their per-turn rewards here."""
    credit = checklist_credit(assign=assign)

    def made(group, scores):
        turns = scores.turns or tuple(np.zeros(len(one.turns)) for one in group)
        own = tuple(np.append(t[:-1], t[-1:] + o) for t, o in zip(turns, scores.outcome))
        item = tuple((np.nan_to_num(t) > 0.3).astype(float) for t in own)
        weight = tuple(0.5 + (np.nan_to_num(t) > 0) for t in own)
        channels = {"checklist": own, "item/c": item, "weight/c": weight}
        return credit(group, replace(scores, turn_channels=channels))

    check_credit(made, over_turns=True)


def test_checklist_credit_rejects_invalid_arguments():
    with pytest.raises(InputError, match="takes assign"):
        checklist_credit(assign="token")
    for assign in ("turn", "step"):
        with pytest.raises(InputError, match="no per-turn channel 'checklist'"):
            checklist_credit(assign=assign)(make_group(trajectories=[make_trajectory()]), make_scores([1]))
