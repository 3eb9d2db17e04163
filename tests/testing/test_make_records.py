import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, ToolCall, ToolReply, check
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory


def test_layout_gives_the_example_of_the_records():
    one = make_trajectory(layouts=["UUt pp tTt p"], logp=[-1, -2, -3], version=7)
    (row,) = one.sequences
    assert row.author.tolist() == [1, 1, 0, 3, 3, 0, 2, 0, 3]
    assert row.turn.tolist() == [-1, -1, -1, 0, 0, 0, 0, 0, 1]
    assert row.mask.tolist() == [False] * 3 + [True] * 2 + [False] * 3 + [True]
    assert row.logp.tolist() == row.behaviour_logp.tolist() == [0, 0, 0, -1, -2, 0, 0, 0, -3]
    assert row.version.tolist() == [-1, -1, -1, 7, 7, -1, -1, -1, 7]
    assert [(t.sequence, t.start, t.stop) for t in one.turns] == [(0, 3, 5), (0, 8, 9)]
    assert row.logp.dtype == np.float32


def test_turns_are_numbered_through_sequences():
    one = make_trajectory(layouts=["UUt pp", "UUttTt p tTt pp"], features={"value": [1, 2, 3, 4, 5]}, off_mask=np.nan)
    assert [(t.sequence, t.start, t.stop) for t in one.turns] == [(0, 3, 5), (1, 6, 7), (1, 10, 12)]
    second = one.sequences[1]
    assert second.turn.tolist() == [-1] * 6 + [1] * 4 + [2] * 2
    assert second.features["value"][second.mask].tolist() == [3, 4, 5]
    assert np.isnan(second.features["value"][~second.mask]).all()


def test_turns_get_a_default_layout():
    one = make_trajectory(
        texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []], task=make_task(answer=408)
    )
    (call,), (reply,) = one.calls, one.replies
    assert call.name == reply.name == "calculator" and reply.call_id == call.id
    assert one.final_text == "408" and one.task.answer == 408
    assert [m.role for m in one.messages] == ["user", "assistant", "tool", "assistant"]
    assert one.messages[2].call_id == call.id and one.messages[1].calls == (call,)
    assert (one.sequences[0].author == 2).sum() == 1


def test_complete_calls_and_replies_are_kept():
    call = ToolCall("search", {"query": "x"}, "mine")
    reply = ToolReply("mine", "search", "no", status="failed", cost=2.0)
    one = make_trajectory(
        calls=[[call, "other"]], replies=[[reply]], errors=[["not closed"]], ending=Ending("policy_error")
    )
    assert [c.id for c in one.calls] == ["mine", "0-1"]
    assert one.replies == [reply] and one.cost == 2.0
    assert one.turns[0].parsed.errors == ("not closed",)


def test_ending_can_be_its_kind():
    assert make_trajectory(ending="infra_error").ending == Ending("infra_error")
    cut = make_trajectory(ending="truncated", finish=["length"])
    assert cut.ending == Ending("truncated", "length") and cut.turns[0].finish == "length"


def test_trajectory_without_turns_is_valid():
    one = make_trajectory(layouts=["Ut"])
    assert one.turns == () and one.num_tokens == 0 and one.final_text == ""


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"layouts": ["Utz"]}, "letters"),
        ({"layouts": ["Utp"], "texts": ["a", "b"]}, "1 turns"),
        ({"layouts": ["Utpp"], "logp": [-1]}, "2 policy tokens"),
        ({"layouts": ["Utpp"], "features": {"value": [1, 2, 3]}}, "value"),
    ],
)
def test_mismatched_arguments_raise(wrong, message):
    with pytest.raises(InputError, match=message):
        make_trajectory(**wrong)


def test_forced_and_expert_tokens_are_marked():
    one = make_trajectory(layouts=["Ut pffp tx f"], logp=[-1, -2, -3, -4, -5], features={"value": [1, 2, 3, 4, 5]})
    (row,) = one.sequences
    assert [(turn.start, turn.stop) for turn in one.turns] == [(2, 6), (8, 9)]
    assert row.logp[row.mask].tolist() == [-1, 0, 0, -4, 0] and row.version[row.mask].tolist() == [0, -1, -1, 0, -1]
    assert row.behaviour_logp[row.mask].tolist() == [-1, -2, -3, -4, -5] and row.features["value"][5] == 4
    assert row.behaviour_logp[7] == 0 and not row.mask[7]


def test_make_group_numbers_siblings():
    group = make_group(layouts=["Utp", ["Utp", "Utp"]], step=3)
    assert [t.sample for t in group] == [0, 1] and len({t.id for t in group}) == 2
    assert [len(t.sequences) for t in group] == [1, 2] and group.step == 3
    task = make_task(id="other", metadata={"level": 2})
    group = make_group(size=2, task=task)
    assert all(t.task is task for t in group) and group.task is task
    assert len(make_group(trajectories=[])) == 0
    for one in group:
        check(one)


def test_make_scores_and_make_rated_fill_defaults():
    scores = make_scores([1, 0], turns=[[1], [2, 3]], channels={"a": [1, 2]}, eligible=[True, False])
    assert scores.outcome.dtype == np.float64 and scores.turns[1].tolist() == [2, 3]
    assert scores.channels["a"].tolist() == [1, 2] and scores.eligible.dtype == bool
    rated = make_rated(outcome=[1, 0, 1], trained=[True, False, True])
    assert len(rated.group) == 3 and rated.trained.tolist() == [True, False, True]
    assert rated.advantages.tokens[0][0].tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1]
    assert make_rated(outcome=[1], advantage=[5]).advantages.tokens[0][0].max() == 5
    assert make_rated().scores.outcome.tolist() == [0] * 4


def test_ids_are_reproducible():
    left, right = make_trajectory(id="a"), make_trajectory(id="a")
    assert left.sequences[0].ids.tolist() == right.sequences[0].ids.tolist()
