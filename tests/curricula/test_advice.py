import pytest

from handaxe.core.records import ToolReply
from handaxe.curricula.advice import ADVICE, Failure, failure_tags, rule_mutations
from handaxe.testing.make_records import make_trajectory


def failure(*tags):
    return Failure("i0", "task", "", 0.0, tags)


def test_by_rules_matches_the_docstring_example():
    failures = [failure("no call"), failure("cut"), failure("no call")]
    assert rule_mutations()("Think.", failures, 0) == ["Think. Use a tool.", "Think. Be short."]
    made = [rule_mutations()("Think. Use a tool.", failures, seed) for seed in range(20)]
    assert {one[0] for one in made} == {"Think. Use a tool. Be short."}
    assert {one[1] for one in made} == {"Think.", "Use a tool."}


def test_by_rules_starts_from_nothing_and_respects_the_length_bound():
    assert rule_mutations()("", [failure("wrong")], 0) == [ADVICE["wrong"]]
    assert rule_mutations(longest=10)("Think.", [failure("no call")], 0) == []
    assert rule_mutations()("", [failure("unheard of")], 0) == rule_mutations()("", [], 0) == []


@pytest.mark.parametrize(
    ("attempt", "tags"),
    [
        (make_trajectory(texts=["4"]), ("no call",)),
        (make_trajectory(texts=["4"], calls=[["f"]]), ("wrong",)),
        (make_trajectory(texts=["4"], calls=[["f"]], ending="truncated"), ("cut",)),
        (make_trajectory(texts=["4"], errors=[["no JSON"]]), ("no call", "malformed")),
        (
            make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[[ToolReply("0-0", "f", "no", "failed")], []]),
            ("tool failed",),
        ),
    ],
)
def test_failure_tags_name_each_failure(attempt, tags):
    assert failure_tags(attempt) == tags and set(tags) <= set(ADVICE)
