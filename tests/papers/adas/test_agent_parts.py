import pytest

from handaxe.papers.adas.agent_parts import AgentParts

ROW = [1, 0, 2, 3]


@pytest.mark.parametrize(
    "step, row",
    [
        (("left", 1), [0, 2, 3, 0]), (("left", 9), [0, 0, 0, 0]), (("right", 1), [0, 1, 0, 2]),
        (("right", 9), [0, 0, 0, 0]), (("turn_left", 1), [0, 2, 3, 1]), (("turn_right", 1), [3, 1, 0, 2]),
        (("reverse", 0), [3, 2, 0, 1]), (("sort", 0), [0, 1, 2, 3]), (("zeros_first", 0), [0, 1, 2, 3]),
        (("zeros_last", 0), [1, 2, 3, 0]), (("paint", 7), [7, 0, 7, 7]),
    ],
)  # fmt: skip
def test_steps_change_a_row(step, row):
    assert AgentParts(0).run([step], ROW) == row


def test_executions_count_against_the_budget():
    parts = AgentParts(0)
    for _ in range(parts.BUDGET):
        parts.run([], ROW)
    with pytest.raises(RuntimeError, match="over budget: 90"):
        parts.run([], ROW)


def test_marks_are_the_mean_share_of_equal_cells():
    parts = AgentParts(0)
    assert parts.marks([("left", 1)], [([1, 0], [0, 0]), ([1, 2], [2, 1])]) == 0.75 and parts.used == 2


def test_proposals_and_changes_have_steps_of_the_given_ones():
    parts = AgentParts(3)
    program = parts.propose(3, parts.order)
    for _ in range(200):
        assert 1 <= len(program) <= 3 and set(program) <= set(parts.order)
        program = parts.improve(program, 3, parts.order)
    assert AgentParts(3).propose(3, parts.steps) == AgentParts(3).propose(3, parts.steps)


def test_a_step_back_excludes_operations_by_the_colors():
    parts = AgentParts(0)
    assert ("paint", 1) not in parts.step_back([([1, 0], [0, 1])])
    assert parts.step_back([([1, 0], [5, 0])]) == parts.paint
    assert ("reverse", 0) not in parts.step_back([([1, 2], [2, 0])])


def test_a_vote_takes_the_most_common_row_and_the_first_of_equal_ones():
    assert AgentParts(0).most_common([[1], [2], [2]]) == [2] and AgentParts(0).most_common([[1], [2]]) == [1]
