import pytest

from handaxe.papers.yunjue.evolve import Evolution, keep_all, keep_none, keep_one, merge_universal
from handaxe.tools.building_blocks import GRID_BLOCKS
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts.rule_tasks import is_correct, rule_tasks

pytest.importorskip("reasoning_gym")


def evolution(absorb):
    return Evolution({"arc_1d": ProgramMaker(GRID_BLOCKS, most=6000, constants=(1, 2, 3, 4, 5))}, absorb)


@pytest.fixture(scope="module")
def moves():
    """Tasks of a move to the left by 2, by 3 and by 4, two of each."""
    return [one for n in "234" for one in rule_tasks("arc_1d", count=2, seed=2, rules=f"move_{n}pix_solid_left")]


@pytest.mark.parametrize("absorb, tools", [(keep_all, 4), (keep_one, 2), (merge_universal, 1), (keep_none, 0)])
def test_a_batch_shares_nothing_and_is_absorbed_after_it(moves, absorb, tools):
    own = evolution(absorb)
    results, new = own.play(moves[:4])
    assert [one.created for one in results] == [True] * 4 and not any(one.reused for one in results)
    assert all(is_correct(task, one.value) for task, one in zip(moves, results))
    assert new == len(own.public.entries) == len(own.made) == tools


def test_a_universal_tool_solves_a_new_move(moves):
    own, plain = evolution(merge_universal), evolution(keep_all)
    own.play(moves[:4])
    plain.play(moves[:4])
    found, _ = own.play(moves[4:])
    assert all(one.reused and is_correct(task, one.value) for task, one in zip(moves[4:], found))
    assert all(one.created for one in plain.play(moves[4:])[0])


def test_universal_tools_pass_the_tests_and_hidden_cases_of_both(moves):
    own = evolution(merge_universal)
    own.play(moves[:4])
    (tool,) = own.made.values()
    assert len(tool.draft.tests) == 3 and len(tool.hidden) == 6  # of the move by 2, and twice of the move by 3
    assert {case.arguments["n0"] for case in (*tool.draft.tests, *tool.hidden)} == {2, 3}
    assert own.public.check(tool.draft, tool.hidden).verdict == "verified"


def test_a_later_tool_joins_the_universal_one(moves):
    own = evolution(merge_universal)
    own.values = ()  # no tool is found, and every task makes one
    own.play(moves[:4])
    results, new = own.play(moves[4:])
    assert all(one.created for one in results) and new == 0 and len(own.public.entries) == 1
    (tool,) = own.made.values()
    assert {case.arguments["n0"] for case in tool.draft.tests} == {2, 3, 4}
