import pytest

from handaxe.papers.uct.creator import Creator, split_cases
from handaxe.tools.building_blocks import GRID_BLOCKS
from handaxe.tools.library import ToolLibrary
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts.rule_tasks import is_correct, rule_tasks

pytest.importorskip("reasoning_gym")


def creator(**options):
    accepts = ("verified",) if options.get("checks", True) else ("verified", "unverified")
    makers = {"arc_1d": ProgramMaker(GRID_BLOCKS, most=1500, constants=(1, 2))}
    return Creator(makers, ToolLibrary(accepts=accepts), **options)


@pytest.fixture(scope="module")
def tasks():
    return rule_tasks("arc_1d", count=3, seed=0, rules="gravity_weighted_colors_left")


def test_the_maker_sees_a_third_of_the_cases():
    assert [tuple(map(len, split_cases([None] * n))) for n in (1, 2, 3, 4, 6)] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 2),
        (2, 4),
    ]


def test_a_created_tool_solves_later_tasks(tasks):
    agent = creator()
    first, second = agent.solve(tasks[0]), agent.solve(tasks[1])
    assert first.created and not first.reused and first.tried > 0 and is_correct(tasks[0], first.value)
    assert second == (second.value, True, False, 0) and is_correct(tasks[1], second.value)
    assert [one.uses for one in agent.library.entries.values()] == [2]


def test_an_agent_that_keeps_nothing_creates_again(tasks):
    agent = creator(keeps=False)
    assert [agent.solve(one).created for one in tasks] == [True] * 3 and not agent.library.entries


def test_hidden_cases_refuse_tools_that_fit_the_maker_s_examples_alone(tasks):
    """The checker's cases contradict those of the maker: no tool can pass."""
    task = tasks[0]
    wrong = tuple(case._replace(expected=[9]) for case in task.examples[1:])
    broken = task._replace(examples=(task.examples[0], *wrong))
    assert creator().solve(broken).value is None
    assert creator(checks=False).solve(broken).created


def test_consolidation_runs_after_each_period(tasks):
    agent = creator(period=2)
    for one in tasks[:2]:
        agent.solve(one)
    assert agent.solved == 2 and agent.probes == [one.query for one in tasks[:2]]
    failing = next(iter(agent.library.entries))
    for _ in range(5):
        agent.library.record(failing, failed=True)
    agent.solve(tasks[2])
    assert failing in agent.library.entries
    agent.solve(tasks[0])
    assert failing not in agent.library.entries
