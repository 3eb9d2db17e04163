from handaxe.core.records import Ending, ToolCall, ToolReply
from handaxe.rewards.well_formed import well_formed
from handaxe.testing.records import make_group, make_trajectory
from handaxe.tools.compute import compute

CONTRACT = [{}, {"arguments": True}, {"tools": (compute,)}]


def test_example():
    good = make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["4"], []])
    bad = make_trajectory(texts=["", "4"], errors=[["not JSON"], []])
    cut = make_trajectory(texts=[""], calls=[["f"]], replies=[["4"]], ending=Ending("truncated", "turns"))
    scores = well_formed()(make_group(trajectories=[good, bad, cut]))
    assert scores.outcome.tolist() == [1, 0, 0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[1, 1], [0, 1], [1]]
    assert scores.turns is None


def test_a_turn_cut_or_a_header_written_is_not_well_formed():
    turns = [make_trajectory(texts=["a"], finish=[finish]) for finish in ("stop", "length", "header")]
    scores = well_formed()(make_group(trajectories=turns))
    assert scores.outcome.tolist() == [1, 0, 0]


def test_refused_arguments_count_when_told():
    refused = ToolReply("0-0", "f", "x must be a number", "invalid")
    group = make_group(
        trajectories=[make_trajectory(texts=["", "4"], calls=[[ToolCall("f", {})], []], replies=[[refused], []])]
    )
    assert well_formed()(group).outcome.tolist() == [1]
    scores = well_formed(arguments=True)(group)
    assert scores.outcome.tolist() == [0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[0, 1]]


def test_no_turn():
    scores = well_formed()(make_group(trajectories=[make_trajectory(layouts=["UUt"])]))
    assert scores.outcome.tolist() == [0]
    assert [ok.tolist() for ok in scores.turn_channels["well_formed"]] == [[]]


def test_calls_that_nothing_answers_are_held_against_the_tools():
    said = [
        ToolCall("compute", {"left": 1, "operator": "+", "right": 2}),
        ToolCall("compute", {"left": 1, "operator": "?", "right": 2}),
        ToolCall("compute", {"left": 1}),
        ToolCall("computer", {"left": 1, "operator": "+", "right": 2}),
    ]
    group = make_group(trajectories=[make_trajectory(texts=[""], calls=[[one]]) for one in said])
    assert well_formed()(group).outcome.tolist() == [1, 1, 1, 1]
    assert well_formed(tools=(compute,))(group).outcome.tolist() == [1, 0, 0, 0]
    assert well_formed(tools=())(make_group(trajectories=[make_trajectory(texts=["4"])])).outcome.tolist() == [1]
