from dataclasses import replace

import numpy as np

from handaxe.credit.group_norm import group_norm
from handaxe.papers.agent_evolver.hint_clip_bonus import hint_clip_bonus
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory

CONTRACT = [{"credit": group_norm()}, {"credit": group_norm(), "note": "tip"}]
BIAS = "advantages equal the wrapped credit"
NOTES = ({"hint": ["tip 0"]}, {"hint": []}, {}, {"hint": ["tip 0", "tip 1"]})


def said(rewards):
    task = make_task()
    made = [
        replace(make_trajectory(layouts=["Utpp", "Up"], task=task), id=f"t/{k}", notes=notes)
        for k, notes in enumerate(NOTES[: len(rewards)])
    ]
    group = make_group(task=task, trajectories=made)
    return hint_clip_bonus(credit=group_norm())(group, make_scores(rewards)), group


def test_hint_clip_bonus_matches_its_example():
    found, group = said([1.0, 0.0, 0.0, 1.0])
    plain = group_norm()(group, make_scores([1.0, 0.0, 0.0, 1.0]))
    for i, room in enumerate((1.0, 0.0, 0.0, 1.0)):
        for s, sequence in enumerate(group[i].sequences):
            for t in range(len(sequence)):
                assert found.channels["room"][i][s][t] == (room if sequence.mask[t] else 0.0)
                assert found.tokens[i][s][t] == plain.tokens[i][s][t]


def test_an_unscored_sibling_has_room_0():
    found, _ = said([np.nan, 0.0, 1.0])
    assert not any(array.any() for own in found.channels["room"] for array in own)


def test_state_of_hint_clip_bonus_is_that_of_its_credit():
    assert hint_clip_bonus(credit=group_norm()).state_dict() == {}
