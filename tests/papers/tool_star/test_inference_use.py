"""Shares of rollouts in which the inference tools act."""

from dataclasses import replace

from handaxe.papers.tool_star.inference_use import inference_use, measure_use
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.sft.supervised import as_rated


def rated(*notes):
    made = [
        replace(make_trajectory(texts=["x"]), env={"debugged": calls}, notes={"redrawn": turns} if turns else {})
        for calls, turns in notes
    ]
    return as_rated(list(make_group(trajectories=made)))


def test_by_hand():
    groups = [rated((2, []), (0, [])), rated((0, [{"turn": 0}]), (0, []))]
    assert measure_use(groups) == {"debugged": 0.25, "resampled": 0.25, "refined": 0.0}
    assert measure_use([]) == {"debugged": 0.0, "resampled": 0.0, "refined": 0.0}
    assert inference_use(source=lambda site: groups)(None) == [
        {"step": 0.0, "debugged": 0.25, "resampled": 0.25, "refined": 0.0}
    ]
