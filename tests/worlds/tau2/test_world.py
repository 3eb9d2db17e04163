"""Rollouts of tau2: correctness of its expert, forks and branches."""

import contextlib
import socket
import threading
from dataclasses import replace

import pytest

pytest.importorskip("tau2")
pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import uvicorn

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.metrics import TaskResult
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Ending, Group, Message, Sampling, Scores, ToolCall
from handaxe.core.requests import Attempt, Completion
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.evaluation.estimates import columns, task_result
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel, TinyNet
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.serving.chat_server import chat_app
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.tau2.user import OUT_OF_SCOPE, STOP, TRANSFER
from handaxe.worlds.tau2.world import TRANSFERRED, solved, tau2

SOLO = {"mode": "solo", "brief": True}
STOCHASTIC = {"brief": True, "personas": ("static",), "test_personas": ("plain", "hard")}
KINDS = [
    SOLO,
    {"brief": True},
    STOCHASTIC,
    {"mode": "solo"},
    {"domain": "retail"},
    {"domain": "airline"},
    {"atoms": (1, 9)},
]


@pytest.mark.parametrize("arguments", KINDS, ids=str)
def test_brief_tau2_keeps_the_world_contract(arguments):
    check_world(tau2(**arguments), count=10)


def play(world, task, speaker, **arguments):
    return demonstrate(world.env(()), task, speaker, format=Compact(), **arguments)


def test_a_brief_conversation_fits_512_tokens_and_ends_when_solved():
    world = tau2(**STOCHASTIC)
    for number, task in enumerate(world.tasks("test", 30, 0)):
        one = play(world, task, world.expert, seed=number, context=512, max_turns=12)
        assert one.ending == Ending("completed") and one.env["ended"] == STOP and one.tools == ()
        assert one.env["persona"] == task.metadata["persona"] in ("plain", "hard")
        assert solved(one) == 1 and state_and_outputs()(Group(task, (one,))).outcome[0] == 1
        assert len(one.sequences[0]) <= 512


def test_the_agent_does_not_see_the_users_calls():
    world = tau2(brief=True, personas=("static",))
    task = next(one for one in world.tasks("train", 99, 0) if "bad_vpn" in one.metadata["scenario"])
    one = play(world, task, world.expert)
    assert one.calls == [] and one.env["made"]["user"] > len(one.turns) - 1
    assert not any("Mbps" in message.content for message in one.messages)


def test_a_transfer_ends_the_rollout_and_solves_transfer_tasks():
    for world, helps in ((tau2(brief=True), False), (tau2(atoms=(1,)), True)):
        for task in world.tasks("train", 99, 0):
            locked = "lock_sim_card_pin" in task.metadata["scenario"]
            one = play(world, task, hand_over if locked else says(TRANSFERRED))
            assert one.env["ended"] == TRANSFER and solved(one) == (helps and locked)
    unsure = world.expert(task, {"turn": 0, "replies": [], "statuses": [], "tools": [], "sure": False})
    assert unsure.content == TRANSFERRED


def hand_over(task, facts):
    if facts["turn"] == 0:
        return Message("assistant", "", (ToolCall("transfer_to_human_agents", {"summary": "locked"}),))
    return Message("assistant", TRANSFERRED)


def says(text):
    return lambda task, facts: Message("assistant", text)


def test_a_truncated_rollout_scores_0():
    world = tau2(**SOLO)
    (task,) = world.tasks("train", 1, 0)
    one = play(world, task, world.expert)
    assert solved(one) == 1
    assert solved(replace(one, ending=Ending("truncated", "turns"))) == 0
    assert world.gauges["transfers"].top(one, 1.0) == 0


def test_a_fork_uses_the_snapshots_environment():
    """The trunk fixes the phone and reports it. A later branch is correct without an action; an earlier branch is not,
    although the trunk has fixed its own phone by then.
    """
    world = tau2(**SOLO)
    task = next(one for one in world.tasks("train", 99, 0) if one.metadata["atoms"] == 1)
    tools = world.env(())(task).start()[1]
    trunk = play(world, task, world.expert)
    assert len(trunk.turns) == 3

    def speak(name, request):
        branch, facts = "branch" in name, {"turn": request.turn, "looked": request.turn > 0, "done": request.turn - 1}
        message = Message("assistant", "done") if branch else world.expert(task, facts)
        ids = Compact().encode_turn(message, tools)
        zeros = [0.0] * len(ids)
        return Completion(ids, zeros, zeros, [0] * len(ids), "stop")

    attempt = Attempt(task, world.env(()), Compact(), Sampling(max_tokens=64), "t/0", 0, 0, 1 << 20)
    first, *branches = run_plan(forking(at=turn_starts(count=3))(attempt), sample=speak)
    assert [solved(one) for one in (first, *branches)] == [1, 0, 0, 1]
    assert [one.env["made"]["user"] for one in (first, *branches)] == [1, 0, 0, 1]


def test_pass_hat_k_counts_tasks_with_k_successes():
    """Numbers of the docs: n=4, c=3 is 0.75, 0.5, 0.25, 0. A rollout with an infrastructure error does not count."""
    endings = [Ending("completed")] * 4 + [Ending("infra_error", "no phone")]
    task = make_task()
    group = make_group(task=task, trajectories=[make_trajectory(task=task, ending=ending) for ending in endings])
    found: TaskResult = task_result(group, Scores([1.0, 0.0, 1.0, 1.0, float("nan")]))
    by_name = columns([found], ks=(1, 2, 3, 4))
    assert [by_name[name].top_T[0] for name in ("pass@1", "pass^2", "pass^3", "pass^4")] == [0.75, 0.5, 0.25, 0.0]


def test_a_user_engine_sees_the_users_side_only():
    world = tau2(atoms=(1,), user="engine", policy="none")
    assert world.expert is None and world.start is None
    task = next(one for one in world.tasks("train", 99, 0) if "]airplane_mode_on" in one.metadata["scenario"])
    seen = []

    def user(text, turn):
        seen.append(text)
        return [ToolCall("toggle_airplane_mode", {}), "It is off now.", STOP][turn]

    agent = [ToolCall("get_customer_by_phone", {"phone_number": "555-123-2002"}), "Switch it off.", "Good?"]
    found = evaluate(
        tasks=[task],
        engine=ScriptedEngine(Compact(), agent, tools=world.env(())(task).start()[1]),
        format=Compact(),
        env=world.env(()),
        rollout=linear(max_turns=6),
        reward=world.correct,
        sampling=Sampling(max_tokens=200),
        aux_policies={"user": AuxPolicy(ScriptedEngine(Compact(), user), Compact(), Sampling(max_tokens=200))},
    )
    assert found.tasks[0].correct == 1 and len(seen) == 3
    assert "<USER>Switch it off.<END>" in seen[0] and "C1001" not in seen[-1] and "get_customer" not in seen[-1]
    assert "Airplane Mode is now OFF" in seen[1] and "John Smith" in seen[0]


def test_a_silent_user_engine_ends_the_conversation():
    world = tau2(brief=True, user="engine")
    (task,) = world.tasks("train", 1, 0)
    look = ScriptedEngine(Compact(), lambda text, turn: ToolCall("check_sim_status", {}))
    attempt = evaluate(
        tasks=[task],
        engine=ScriptedEngine(Compact(), ["hello"] * 4),
        format=Compact(),
        env=world.env(()),
        rollout=linear(max_turns=4),
        reward=world.correct,
        sampling=Sampling(max_tokens=200),
        aux_policies={"user": AuxPolicy(look, Compact(), Sampling(max_tokens=200))},
    ).tasks[0]
    assert attempt.correct == 0 and attempt.endings == {"completed": 1}
    assert OUT_OF_SCOPE


def test_a_user_engine_without_a_text_ends_the_rollout_unscored():
    world = tau2(brief=True, user="engine")
    silent = AuxPolicy(ScriptedEngine(Compact(), ["", ""]), Compact(), Sampling(max_tokens=200))
    with pytest.raises(VerifierError, match="ended as infra_error: 'user' gave no reply"):
        evaluate(
            tasks=world.tasks("train", 1, 0),
            engine=ScriptedEngine(Compact(), ["hello"] * 4),
            format=Compact(),
            env=world.env(()),
            rollout=linear(max_turns=4),
            reward=world.correct,
            sampling=Sampling(max_tokens=200),
            aux_policies={"user": silent},
        )


def test_an_untrained_policy_completes_rollouts():
    world = tau2(**SOLO)
    engine = LocalEngine(TinyModel(TinyNet(TinyConfig(width=32, layers=1, heads=2, max_length=512))))
    found = evaluate(
        tasks=world.tasks("test", 4, 0),
        engine=engine,
        format=Compact(),
        env=world.env(()),
        rollout=linear(max_turns=3),
        reward=world.correct,
        sampling=Sampling(max_tokens=16),
        breakdown=world.breakdown,
        gauges=world.gauges,
    )
    assert len(found.tasks) == 4 and all(one.scored == 1 for one in found.tasks)


@contextlib.contextmanager
def serving(engine, format):
    """`handaxe serve` of a model, in a thread."""
    own = uvicorn.Server(uvicorn.Config(chat_app(engine, format, name="tiny"), log_level="error"))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=own.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        own.should_exit = True
        thread.join()


@pytest.mark.parametrize("arguments", [SOLO, {"brief": True}], ids=str)
def test_a_served_model_completes_rollouts(arguments):
    world = tau2(**arguments)
    policy = load("tiny")
    with serving(LocalEngine(policy.model), policy.format) as port:
        engine = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=Transcript(), attempts=1)
        found = evaluate(
            tasks=world.tasks("test", 3, 0),
            engine=engine,
            format=Transcript(),
            env=world.env(()),
            rollout=linear(max_turns=2),
            reward=world.correct,
            sampling=Sampling(max_tokens=16),
        )
        engine.close()
    assert [one.scored for one in found.tasks] == [1, 1, 1]


@pytest.mark.parametrize("arguments", [{"mode": "solo"}, {"brief": True}, {"atoms": (1,)}], ids=str)
def test_other_domains_reject_telecom_options(arguments):
    with pytest.raises(InputError, match="for telecom"):
        tau2(domain="retail", **arguments)
