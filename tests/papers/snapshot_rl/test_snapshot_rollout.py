import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch
from handaxe.papers.snapshot_rl.snapshot_rollout import snapshot_rollout
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear


def test_a_rollout_continues_for_the_truncation(dice):
    recorded = next(_long(dice))
    for turn in range(4):
        plan = snapshot_rollout(starts=lambda one, turn=turn: (recorded, turn), truncate=1, after=None)
        (one,) = run_plan(plan(dice.attempt(300)), sample=dice.roll)
        assert len(one.turns) == turn + 1 and one.turns[:turn] == recorded.turns[:turn]
        assert one.branch_of == Branch(recorded.id, 0, recorded.turns[turn].start)
    after = snapshot_rollout(starts=lambda one: None, truncate=1, after=linear(max_turns=6))
    (plain,) = run_plan(after(dice.attempt(5)), sample=dice.roll)
    assert plain.branch_of is None
    with pytest.raises(InputError, match="1 turn or more"):
        snapshot_rollout(starts=lambda one: None, truncate=0, after=linear())


def _long(dice):
    for n in range(80):
        (one,) = run_plan(linear(max_turns=6)(dice.attempt(n)), sample=dice.roll)
        if len(one.turns) >= 4:
            yield one
