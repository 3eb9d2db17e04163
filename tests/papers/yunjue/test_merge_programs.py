import pytest

from handaxe.papers.yunjue.merge_programs import merge_programs
from handaxe.tools.building_blocks import GRID_BLOCKS
from handaxe.tools.program_search import BlockCall, Constant, Parameter, Program

BLOCK = {one.name: one for one in GRID_BLOCKS}
XS = Parameter("xs")


def call(name, *arguments):
    return BlockCall(BLOCK[name], tuple(Constant(one) if isinstance(one, int) else one for one in arguments))


def program(body):
    return Program({"xs": list[int]}, body)


def move(n, m=None):
    return program(call("drop", call("concat", XS, call("zeros", n)), n if m is None else m))


def test_equal_pairs_of_constants_share_a_parameter():
    merged, first, second = merge_programs(move(2), move(3))
    assert merged.source("move").endswith("def move(xs, n0):\n    return drop(concat(xs, zeros(n0)), n0)\n")
    assert (first, second) == ({"n0": 2}, {"n0": 3})


def test_other_pairs_have_parameters_of_their_own():
    merged, first, second = merge_programs(move(2, 2), move(3, 4))
    assert list(merged.parameters) == ["xs", "n0", "n1"]
    assert (first, second) == ({"n0": 2, "n1": 2}, {"n0": 3, "n1": 4})


def test_a_merged_program_absorbs_a_third():
    universal, *_ = merge_programs(move(2), move(3))
    again, first, second = merge_programs(universal, move(4))
    assert again.body == universal.body and (first, second) == ({"n0": "n0"}, {"n0": 4})


@pytest.mark.parametrize("row", [[1, 2, 3, 4, 5], [0, 7], [5, 0, 5, 0, 0, 1]])
def test_the_merged_program_gives_the_values_of_both(row):
    for one, other in ((move(1), move(3)), (move(2, 1), move(1, 2))):
        merged, first, second = merge_programs(one, other)
        assert merged({"xs": row, **first}) == one({"xs": row}) and merged({"xs": row, **second}) == other({"xs": row})


def test_programs_that_differ_in_more_than_constants_are_not_merged():
    assert merge_programs(move(2), program(call("reverse", XS))) is None
    assert merge_programs(program(call("take", XS, 2)), program(call("drop", XS, 2))) is None
    assert merge_programs(program(call("reverse", XS)), program(call("reverse", call("reverse", XS)))) is None


def test_equal_programs_need_no_parameter():
    merged, first, second = merge_programs(move(2), move(2))
    assert merged == move(2) and first == second == {}
