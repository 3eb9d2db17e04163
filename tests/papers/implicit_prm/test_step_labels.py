import numpy as np
import pytest

from handaxe import rollouts
from handaxe.core.errors import InputError
from handaxe.core.records import Group, Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.implicit_prm.step_labels import continuation_labels, turn_continuations
from handaxe.rollouts.search.play_search import SearchPlayer
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"count": 2}]


def test_labels_match_the_docstring_example():
    rollouts_of_a_task = [
        make_trajectory(layouts=["UUt pp tTt p"], id="t/0"),
        make_trajectory(layouts=["UUt pp tTt pp"], id="t/0/branch-0"),
        make_trajectory(layouts=["UUt pp tTt ppp"], id="t/0/branch-1"),
    ]
    group = Group(rollouts_of_a_task[0].task, tuple(rollouts_of_a_task))
    ((own, scores),) = continuation_labels(group, np.array([0.0, 0.0, 1.0]), count=2)
    assert [one.id for one in own] == ["t/0"] and scores.outcome.tolist() == [0.0]
    assert scores.turns[0].tolist() == [1.0, 0.0]
    ((_, wrong),) = continuation_labels(group, np.zeros(3), count=2)
    assert wrong.turns[0].tolist() == [0.0, 0.0]


def test_a_correct_rollout_has_good_steps_whatever_its_branches():
    group = make_group(trajectories=[make_trajectory(layouts=["Utp tTt p tTt p"], id="t/0")])
    ((_, scores),) = continuation_labels(group, np.array([1.0]), count=4)
    assert scores.turns[0].tolist() == [1.0, 1.0, 1.0]


def test_places_are_after_each_turn_but_the_last():
    trunk = make_trajectory(layouts=["Utpp tTt pp tTt p"], id="t")
    starts = [turn.start for turn in trunk.turns[1:]]
    assert [(one.sequence, one.token) for one in turn_continuations(count=2)(trunk)] == [
        (0, start) for start in starts for _ in range(2)
    ]
    with pytest.raises(InputError, match="count is 0"):
        turn_continuations(count=0)


def test_branches_of_a_policy_share_the_turns_before_their_step():
    """With rollouts of a real policy: the branches that label turn k repeat the rollout through the reply to turn k."""
    policy, world = load("tiny"), arithmetic()
    play = SearchPlayer(world.env(world.tools), LocalEngine(policy.model), policy.format, Sampling(max_tokens=32))
    rollout = rollouts.forking(at=turn_continuations(count=2), max_turns=4)
    played = play(rollout, [(0, task) for task in world.tasks("train", 6, 0)], samples=2)
    longest = 0
    for one in played:
        members = {each.id: each for each in one.group}
        for own, scores in continuation_labels(one.group, world.correct(one.group).outcome, count=2):
            (trunk,) = own
            assert len(scores.turns[0]) == len(trunk.turns) and isinstance(own, Group)
            for n in range(2 * (len(trunk.turns) - 1)):
                branch, turn = members[f"{trunk.id}/branch-{n}"], trunk.turns[n // 2 + 1]
                shared = [each.sequences[turn.sequence].ids[: turn.start].tolist() for each in (trunk, branch)]
                assert shared[0] == shared[1]
                longest = max(longest, n // 2 + 1)
    assert longest >= 1
