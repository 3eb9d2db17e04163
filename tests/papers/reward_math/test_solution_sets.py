import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.evaluation.scenes import play, script
from handaxe.papers.reward_math.solution_sets import solution_sets
from handaxe.testing.make_records import make_rated
from handaxe.worlds.fact_chains import fact_chains, step_verdicts

WORLD = fact_chains()
TASKS = WORLD.tasks("test", 8, 0)


def rated(task, *texts):
    rollouts = [play(WORLD, WORLD.tools, task, script(text), id=f"{task.id}/{text}") for text in texts]
    group = Group(task, tuple(rollouts))
    return make_rated(group=group, outcome=WORLD.correct(group).outcome)


GROUPS = [rated(task, "1", task.answer, "words", "2", "3", "4") for task in TASKS]
HOT = [rated(task, "5", "2") for task in TASKS]
SETS = solution_sets(WORLD, GROUPS, HOT, seed=0)


def test_the_first_solution_alone_is_correct():
    assert len(SETS) == len(TASKS)
    for one in SETS:
        assert WORLD.correct(one.many).outcome.tolist() == [1.0] + [0.0] * 9
        assert WORLD.correct(one.pair).outcome.tolist() == [1.0, 0.0]


def test_makers_have_their_shares():
    """Numbers of the policy: 1, 2, 3 and no word; 5 of the hotter policy, since 2 is there; two wrong steps; rules."""
    for one in SETS:
        texts = [rollout.final_text for rollout in one.many]
        assert texts[1:5] == ["1", "2", "3", "5"]
        steps = [step_verdicts(rollout) for rollout in one.many]
        assert all(verdict_N.tolist().count(-1) == 1 for verdict_N in steps[1:])
        kinds = [int(np.flatnonzero(verdict_N < 0)[0]) == len(verdict_N) - 1 for verdict_N in steps[5:]]
        assert kinds == [False, False, True, True, True]
        assert len({tuple(turn.parsed.raw for turn in rollout.turns) for rollout in one.many}) == 10


def test_the_incorrect_side_of_a_pair_makes_no_call():
    for one in SETS:
        assert one.pair[0].calls and not one.pair[1].calls and one.pair[1].final_text.isdigit()


def test_sets_follow_the_seed():
    names = [[rollout.id for rollout in one.many] for one in SETS]
    again, other = (
        [[rollout.id for rollout in one.many] for one in solution_sets(WORLD, GROUPS, HOT, seed=seed)]
        for seed in (0, 1)
    )
    assert names == again != other


@pytest.mark.parametrize("number", [0, 3])
def test_a_task_without_groups_of_policies_has_rules_alone(number):
    empty = [rated(task, task.answer) for task in TASKS]
    one = solution_sets(WORLD, empty, empty, seed=0)[number]
    assert len(one.many) == 10 and WORLD.correct(one.many).outcome.sum() == 1
