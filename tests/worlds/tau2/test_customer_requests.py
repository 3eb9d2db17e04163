"""Requests of retail and airline: one after another, with the databases compared for each."""

import contextlib
import random
from collections import Counter

import pytest

pytest.importorskip("tau2")

from handaxe.core.errors import Failed, InputError
from handaxe.core.records import Branch, Group, Message, Sampling, ToolCall
from handaxe.core.requests import Attempt, Completion
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.tau2.customer_requests import (
    RequestProgress,
    check_requests,
    customer_side,
    customer_text,
    is_fulfilled,
    request_criteria,
    requests,
    unusable,
)
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.state import ServiceState
from handaxe.worlds.tau2.user import MANNERS, STOP, TRANSFER, WORRIES
from handaxe.worlds.tau2.world import TRANSFERRED, solved, tau2

UNCHANGED = {
    "retail": {"10", "24", "25", "50", "57", "62", "65", "67", "68"},
    "airline": {*map(str, (0, 1, 3, 4, 5, 6, 10, 13, 26, 28, 31, 34, 36, 41, 43, 45, 46, 47, 48, 49))},
}
BRIEF = {"domain": "retail", "user": "requests", "brief": True}


def play(world, task, speaker=None, **arguments):
    return demonstrate(world.env(()), task, speaker or world.expert, format=Compact(), max_turns=64, **arguments)


def served(domain, scenario, number):
    """State after the calls of the first requests."""
    state = ServiceState(domain, scenario)
    for one in requests(domain, scenario)[:number]:
        for call in one.calls:
            with contextlib.suppress(Failed):
                state.call(call.side, call.name, call.arguments)
    return state


@pytest.mark.parametrize(
    "arguments", [BRIEF, {**BRIEF, "atoms": (4,)}, {"domain": "airline", "user": "requests"}], ids=str
)
def test_tau2_with_requests_keeps_the_world_contract(arguments):
    check_world(tau2(**arguments), count=7)


@pytest.mark.slow
@pytest.mark.parametrize("domain, count", [("retail", 103), ("airline", 30)])
def test_the_expert_fulfils_every_usable_task(domain, count):
    world = tau2(domain=domain, user="requests", policy="none", personas=("static",), test_personas=("hard",))
    made = [*world.tasks("train", 200, 0), *world.tasks("test", 200, 0)]
    assert len(made) == count == len(package(domain).raw) - len(unusable(domain))
    for number, task in enumerate(made):
        one = play(world, task, seed=number)
        assert solved(one) == 1 and one.env["progress"] == 1 and one.env["ended"] == STOP, task.id
        assert state_and_outputs()(Group(task, (one,))).outcome[0] == 1
        assert check_requests(one, request_criteria(task))[:, -1].all()


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_unusable_tasks_have_a_reason(domain):
    found = unusable(domain)
    assert {one for one, reason in found.items() if reason == "it changes nothing"} == UNCHANGED[domain]
    rejected = {one for one, reason in found.items() if reason == "its state-changing calls are rejected"}
    assert rejected == ({"12", "105"} if domain == "retail" else set())


def test_splits_share_no_customer():
    for domain, sizes in (("retail", (69, 34)), ("airline", (18, 12))):
        sides = customer_side(domain)
        assert tuple(Counter(sides.values())[side] for side in ("train", "test")) == sizes
        named = {"train": set(), "test": set()}
        for scenario, side in sides.items():
            calls = [call for one in requests(domain, scenario) for call in one.calls]
            named[side] |= {call.arguments["user_id"] for call in calls if "user_id" in call.arguments}
            named[side] |= {call.arguments["order_id"] for call in calls if "order_id" in call.arguments}
        assert named["train"] and named["test"] and not named["train"] & named["test"]


def test_the_next_request_follows_the_answer():
    scenario = next(one for one in package("retail").raw if len(requests("retail", one)) == 3)
    world = tau2(domain="retail", user="requests", policy="none", personas=("static",), test_personas=("static",))
    task = next(
        task for side in ("train", "test") for task in world.tasks(side, 99, 0) if task.metadata["scenario"] == scenario
    )
    asked = requests("retail", scenario)
    env = world.env(())(task)
    assert env.start()[0] == (Message("user", asked[0].said),)
    one = play(world, task)
    said = [message.content for message in one.messages if message.role == "user"]
    assert said == [asked[0].said, asked[1].said, asked[2].said, STOP]
    assert [len(turn.parsed.calls) for turn in one.turns] == [k for each in asked for k in (*[1] * len(each.calls), 0)]
    assert [turn.facts["progress"] for turn in one.turns if not turn.parsed.calls] == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_request_is_met_by_its_changes_and_its_texts():
    asked = requests("retail", "3")
    assert [len(one.changes) for one in asked] == [1, 0] and asked[1].outputs == ("10",)
    before, after = served("retail", "3", 0), served("retail", "3", 1)
    assert not is_fulfilled(asked[0], before, []) and is_fulfilled(asked[0], after, [])
    assert is_fulfilled(asked[1], before, ["There are 1,0."]) and not is_fulfilled(asked[1], before, ["There are 9."])


def test_an_unfulfilled_request_is_not_met_and_the_customer_continues():
    world = tau2(**BRIEF, personas=("static",), test_personas=("static",))

    def ignores_the_first(task, facts):
        return Message("assistant", "no") if facts.get("request", 0) == 0 else world.expert(task, facts)

    for task in world.tasks("test", 6, 0):
        one = play(world, task, ignores_the_first)
        assert one.env["ended"] == STOP and solved(one) == 0 and one.env["progress"] == 0.5
        assert check_requests(one, request_criteria(task))[:, -1].tolist() == [False, True]
        assert world.gauges["progress"].top(one, 0.0) == 0.5


def test_a_harmful_call_fails_the_rollout():
    """A cancelled order that only a status was asked of."""
    world = tau2(**BRIEF, personas=("static",))
    task = next(
        one
        for one in world.tasks("train", 99, 0)
        if requests("retail", one.metadata["scenario"])[0].answer == "pending"
    )
    order = task.messages[-1].content.split()[0]

    def harms(task, facts):
        message = world.expert(task, facts)
        if facts["turn"] == 1:
            return Message(
                "assistant", "", (ToolCall("cancel_pending_order", {"order_id": order, "reason": "no longer needed"}),)
            )
        return message

    one = play(world, task, harms)
    assert one.env["progress"] == 1 and solved(one) == 0 and one.env["parts"]["DB"] == 0


def view(*texts):
    """Customer's view: the words of customer and agent, alternating."""
    return [Message("system", ""), *(Message("user" if n % 2 else "assistant", text) for n, text in enumerate(texts))]


def test_customers_balk_once_and_chat_by_persona():
    asked = requests("retail", "#W2378156 status?|#W6247578 status?")
    first, second = (one.said for one in asked)
    static, hard = MANNERS["static"], MANNERS["hard"]
    assert customer_text(view(first, "delivered"), asked, static, random.Random(0)) == second
    assert customer_text(view(first, "a", second, "b"), asked, static, random.Random(0)) == STOP
    assert customer_text(view(first, TRANSFERRED), asked, static, random.Random(0)) == TRANSFER
    found = [customer_text(view(first, "a"), asked, hard, random.Random(seed)) for seed in range(300)]
    assert abs(sum(one in WORRIES for one in found) / 300 - hard.balks) < 0.1
    calm = [one for one in found if one not in WORRIES]
    assert all(one.endswith(second) for one in calm) and abs(sum(one != second for one in calm) / len(calm) - 0.6) < 0.1
    repeated = [customer_text(view(first, "a", WORRIES[0], "a"), asked, hard, random.Random(k)) for k in range(50)]
    assert all(one.endswith(second) for one in repeated)


def test_met_requests_stay_met_and_snapshots_restore_progress():
    asked = requests("retail", "#W2378156 status?|#W6247578 status?")
    state, progress = ServiceState("retail", "0"), RequestProgress(asked)
    wanted = [one.outputs == ("delivered",) for one in asked]
    assert any(wanted) and progress.facts(state, ["delivered"])["met"] == wanted
    kept = progress.snapshot()
    progress.turn_to_next(0)
    other = RequestProgress(asked)
    other.restore(kept)
    assert other.share == progress.share and other.facts(state, [])["request"] == 0
    found = progress.facts(state, [])
    assert found["request"] == 1 and found["met"] == wanted


def test_a_fork_continues_from_the_snapshot():
    world, format = tau2(**BRIEF, personas=("static",)), Compact()
    (task,) = world.tasks("train", 1, 0)
    env = world.env(())(task)
    tools = env.start()[1]
    trunk = play(world, task)
    said = [Message("assistant", one.parsed.text, one.parsed.calls) for one in trunk.turns]

    def sample(name, request):
        ids = format.encode_turn(said[request.turn], tools)
        return Completion(ids, [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop")

    attempt = Attempt(task, world.env(()), format, Sampling(max_tokens=10**4), "t/0", 0, 0, 10**5)
    rollout = forking(at=lambda one: [Branch(one.id, turn.sequence, turn.start) for turn in one.turns], max_turns=40)
    first, *branches = run_plan(rollout(attempt), sample=sample)
    assert len(branches) == len(trunk.turns) and solved(first) == 1
    for branch in branches:
        assert branch.env == first.env and branch.env["progress"] == 1


@pytest.mark.parametrize("arguments", [{}, {"domain": "retail", "mode": "solo"}], ids=str)
def test_requests_are_for_retail_and_airline(arguments):
    with pytest.raises(InputError, match="is for retail and airline"):
        tau2(user="requests", **arguments)
