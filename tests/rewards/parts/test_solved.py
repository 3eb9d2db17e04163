import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import ToolReply
from handaxe.rewards.parts.solved import contains_result, match_results, read_unsolved
from handaxe.testing.make_records import make_task


def test_solved_matches_its_example():
    replies = [ToolReply("0", "boss", "luta"), ToolReply("1", "ally", "It is Kemi."), ToolReply("2", "ally", "kemi")]
    golds = {"boss": ["luta"], "ally": ["dozo", "kemi"]}
    assert match_results(replies, golds) == ([True, True, False], {"ally": ["dozo"]})
    assert golds == {"boss": ["luta"], "ally": ["dozo", "kemi"]}


def test_a_result_counts_for_its_own_tool_and_once_for_each_request():
    assert match_results([ToolReply("0", "other", "7")], {"add": ["7"]}) == ([False], {"add": ["7"]})
    twice = [ToolReply("0", "add", "7"), ToolReply("1", "add", "7")]
    assert match_results(twice, {"add": ["7", "7"]}) == ([True, True], {})


@pytest.mark.parametrize(
    ("text", "gold", "found"),
    [
        ("Luta it is", "luta", True),
        ("1,024 men", "1024", True),
        ("b and a", "a, b", True),
        ("a", "a, b", False),
        ("", "a", False),
    ],
)
def test_contains_result_needs_all_parts_and_ignores_case(text, gold, found):
    assert contains_result(text, gold) is found


@pytest.mark.parametrize("unsolved", [None, ["7"], {"add": "7"}, {"add": [7]}])
def test_a_task_without_unsolved_results_is_rejected(unsolved):
    with pytest.raises(TaskError, match="unsolved"):
        read_unsolved(make_task(metadata={"unsolved": unsolved}))
