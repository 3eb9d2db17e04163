import inspect

import numpy as np
import pytest
from helpers import contract

from handaxe import rewards
from handaxe.core.records import Ending, Scores, ToolCall, ToolReply, check
from handaxe.ops.ragged import group_rewards
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.ladder import Rung
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.rewards import check_reward, without_turns

MECHANISMS = contract.mechanisms("Reward")
"""Lifts and combinators set CONTRACT = [] and are checked below."""


def siblings(answer="4"):
    """Make rollouts that differ in every property a reward may read."""
    task = make_task(answer=answer)
    right, near = ToolCall("f", {"x": 1, "y": 2}), ToolCall("f", {"x": 1, "z": 9})
    failed = ToolReply("0-0", "f", "no", "failed")
    thought = "<think>two and two</think><answer>4</answer>"
    return make_group(
        task=task,
        trajectories=[
            make_trajectory(texts=["", "4"], calls=[[right], []], replies=[["4"], []], task=task, env={"balance": 5}),
            make_trajectory(texts=["", "", "4"], calls=[[near], ["g"], []], replies=[[failed], ["1"], []], task=task),
            make_trajectory(texts=["4"], task=task, env={"balance": 5}),
            make_trajectory(texts=["5"], errors=[["not JSON"]], task=task),
            make_trajectory(texts=[thought], task=task),
            make_trajectory(texts=["", ""], calls=[["g"], ["g"]], task=task, ending=Ending("truncated", "turns")),
        ],
    )


@pytest.mark.parametrize("name, arguments", contract.cases(MECHANISMS), ids=contract.label)
def test_every_mechanism_keeps_the_contract(name, arguments):
    """Its own test may say with which arguments (see helpers.contract), for which reference answer of the task
    (REFERENCE), and of which attempts (SIBLINGS) where it tells none of those here apart."""
    factory = contract.factory(name)
    knobs = inspect.signature(factory).parameters.values()
    assert all(knob.kind is knob.KEYWORD_ONLY for knob in knobs), f"{name} takes its knobs by keyword only"
    group = contract.own(name, "SIBLINGS", None) or siblings(contract.own(name, "REFERENCE", "4"))
    reward = factory(**arguments)
    check_reward(reward, group)
    assert len(set(group_rewards(group, reward(group)).tolist())) > 1, (
        f"{name} tells no two siblings of this group apart"
    )


def test_combinators_keep_the_contract():
    per_turn = rewards.per_turn(lambda trajectory: [len(turn.parsed.text) for turn in trajectory.turns])
    fewer = contract.factory("papers.otc.fewer_calls")(base=exact_match(), smooth=4)
    both = rewards.weighted({"answer": (1.0, fewer), "turns": (0.1, per_turn)})
    for reward in (
        per_turn,
        both,
        rewards.turns_to_outcome(both),
        rewards.turns_to_outcome(both, reduce="mean"),
        rewards.select_channel(both, "turns"),
        rewards.ladder([Rung("answer", exact_match()), Rung("fewer", fewer)]),
        rewards.product({"answer": exact_match(), "fewer": fewer}),
        rewards.gate(on=exact_match(), then=both, otherwise=per_turn, mark_eligible=True),
    ):
        check_reward(reward, siblings())


class Counts:
    """Broken: results depend on the number of calls, outside the state_dict."""

    def __init__(self):
        self.count = 0

    def __call__(self, group):
        self.count += 1
        return Scores(np.full(len(group), float(self.count)))


def wipes(group):
    group.task.metadata["seen"] = True
    return Scores(np.zeros(len(group)))


def first_wins(group):
    return Scores(np.arange(len(group), dtype=float))


def needs_turns(group):
    return Scores(np.array([len(one.turns[-1].parsed.text) for one in group], dtype=float))


def needs_siblings(group):
    return Scores(np.full(len(group), 1.0 / (len(group) - 1)))


def flat_turns(group):
    return Scores(np.zeros(len(group)), turns=tuple(np.zeros(1) for _ in group))


def nan_channel(group):
    return Scores(np.zeros(len(group)), channels={"c": np.full(len(group), np.nan)})


def whole_numbers_as_eligible(group):
    return Scores(np.zeros(len(group)), eligible=np.ones(len(group)))


BROKEN = {
    "two calls": Counts(),
    "changed the group": wipes,
    "in the order": first_wins,
    "list index": needs_turns,
    "division by zero": needs_siblings,
    "turns has shapes": flat_turns,
    "channel|c is not finite": nan_channel,
    "not bool": whole_numbers_as_eligible,
    "outcome has shape": lambda group: Scores(np.zeros(1)),
    "not a numpy array": lambda group: Scores([0.0] * len(group)),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_rewards_raise(broken):
    with pytest.raises(
        (AssertionError, IndexError, ZeroDivisionError), match=broken.replace("list index", "tuple index")
    ):
        check_reward(BROKEN[broken], siblings())


def test_incomplete_state_raises():
    class Forgets(Counts):
        def __call__(self, group):
            self.count += 1
            return Scores(np.zeros(len(group)))

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            pass

    with pytest.raises(AssertionError, match="does not restore"):
        check_reward(Forgets(), siblings())


def test_without_turns_is_a_valid_record():
    silent = without_turns(siblings()[1])
    check(silent)
    assert silent.turns == () and silent.num_tokens == 0 and silent.final_text == ""
