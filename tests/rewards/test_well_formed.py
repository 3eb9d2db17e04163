from functools import partial

from handaxe.core.records import Ending, ToolCall, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.well_formed import well_formed
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.tools.compute import compute
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{}, {"arguments": True}, {"tools": (compute,)}]
LAB = [
    LabCase("well_formed()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: well_formed()),
]


def test_well_formed_matches_the_docstring_example():
    good = make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["4"], []])
    bad = make_trajectory(texts=["", "4"], errors=[["not JSON"], []])
    cut = make_trajectory(texts=[""], calls=[["f"]], replies=[["4"]], ending=Ending("truncated", "turns"))
    scores = well_formed()(make_group(trajectories=[good, bad, cut]))
    assert scores.outcome.tolist() == [1, 0, 0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[1, 1], [0, 1], [1]]
    assert scores.turns is None


def test_truncated_turns_and_written_headers_are_malformed():
    turns = [make_trajectory(texts=["a"], finish=[finish]) for finish in ("stop", "length", "header")]
    scores = well_formed()(make_group(trajectories=turns))
    assert scores.outcome.tolist() == [1, 0, 0]


def test_refused_arguments_count_with_the_option():
    refused = ToolReply("0-0", "f", "x must be a number", "invalid")
    group = make_group(
        trajectories=[make_trajectory(texts=["", "4"], calls=[[ToolCall("f", {})], []], replies=[[refused], []])]
    )
    assert well_formed()(group).outcome.tolist() == [1]
    scores = well_formed(arguments=True)(group)
    assert scores.outcome.tolist() == [0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[0, 1]]


def test_a_rollout_without_a_turn_scores_zero():
    scores = well_formed()(make_group(trajectories=[make_trajectory(layouts=["UUt"])]))
    assert scores.outcome.tolist() == [0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[]]


def test_calls_without_replies_are_checked_against_the_tools():
    made = [
        ToolCall("compute", {"left": 1, "operator": "+", "right": 2}),
        ToolCall("compute", {"left": 1, "operator": "?", "right": 2}),
        ToolCall("compute", {"left": 1}),
        ToolCall("computer", {"left": 1, "operator": "+", "right": 2}),
    ]
    group = make_group(trajectories=[make_trajectory(texts=[""], calls=[[one]]) for one in made])
    assert well_formed()(group).outcome.tolist() == [1, 1, 1, 1]
    assert well_formed(tools=(compute,))(group).outcome.tolist() == [1, 0, 0, 0]
    assert well_formed(tools=())(make_group(trajectories=[make_trajectory(texts=["4"])])).outcome.tolist() == [1]
