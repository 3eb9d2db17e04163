import pytest

from handaxe.core.records import STOPPED, Group
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.toolchain_star.call_meter import CallMeter, call_meter
from handaxe.papers.toolchain_star.compare_searches import repeated
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.search.mcts import mcts

LINEAR = linear(max_turns=5)
TREE = mcts(outcome=outcome(lambda one: float(len(one.turns) > 2)), simulations=6, max_turns=5)
REPEATED = repeated(most=4, max_turns=5)


@pytest.mark.parametrize("rollout", [LINEAR, TREE, REPEATED])
def test_an_ample_budget_changes_nothing(dice, rollout):
    for seed in range(20):
        meters = {}
        found = run_plan(call_meter(rollout, calls=999, meters=meters)(dice.attempt(seed)), sample=dice.roll)
        plain = run_plan(rollout(dice.attempt(seed)), sample=dice.roll)
        assert [(one.id, one.turns, one.ending) for one in found] == [(one.id, one.turns, one.ending) for one in plain]
        assert meters["t/0"].tokens >= total_usage(Group(found[0].task, tuple(found))).tokens > 0
        assert not meters["t/0"].refused


@pytest.mark.parametrize("rollout", [LINEAR, TREE, REPEATED])
@pytest.mark.parametrize("calls", [0, 1, 2, 5])
def test_no_rollout_executes_more_calls_than_the_budget(dice, rollout, calls):
    stopped = 0
    for seed in range(30):
        meters, dice.Counter.made = {}, []
        plan = call_meter(rollout, calls=calls, meters=meters)(dice.attempt(seed))
        found = run_plan(plan, sample=dice.roll)
        executed = sum(len(turn.calls) + len(turn.errors) for env in dice.Counter.made for turn in env.asked)
        assert executed == meters["t/0"].calls <= calls
        assert all(env.closed == 1 for env in dice.Counter.made)
        assert meters["t/0"].refused == any(one.ending == STOPPED for one in found) or rollout is TREE
        stopped += meters["t/0"].refused
    assert stopped > 5 or (rollout is LINEAR and calls > 1)


def test_the_meter_counts_every_sample(dice):
    meters, asked = {}, []

    def sample(name, request):
        asked.append(dice.roll(name, request))
        return asked[-1]

    run_plan(call_meter(TREE, calls=4, meters=meters)(dice.attempt(1)), sample=sample)
    assert (meters["t/0"].turns, meters["t/0"].tokens) == (len(asked), sum(len(one.ids) for one in asked))


def test_a_meter_begins_at_0():
    assert CallMeter() == CallMeter(0, 0, 0, False)
