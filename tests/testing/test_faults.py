import collections
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import AsyncEnv, OnAuxReply
from handaxe.core.records import Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Act, Attempt, Completion
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.driver import run
from handaxe.rollouts.driver.workers import Workers
from handaxe.rollouts.linear import linear
from handaxe.testing.faults import FaultLog, faulty, faulty_env
from handaxe.testing.scripted_engine import encode_reply
from handaxe.testing.tools import check_tool
from handaxe.tools import tool
from handaxe.tools.calculator import calculator as real_calculator
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record.groups import is_trained
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.parts import arithmetic_tasks as arithmetic

NEVER = {"crash": 0.0, "hang": 0.0, "garbage": 0.0, "kill": 0.0}


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
async def aecho(text: str) -> str:
    """Say it again."""
    return text


@tool(timeout=2.0)
def calculator(expression: str) -> str:
    """Work out an expression."""
    return real_calculator(expression)


def call(of, seed=0):
    return of.run(ToolCall(of.schema.name, {"text": "hi"}, "c0"), seed=seed)


def always(kind, made=echo, **settings):
    return faulty(made, **(NEVER | {kind: 1.0}), **settings)


@pytest.mark.parametrize("made", [echo, aecho])
def test_faults_have_their_outcomes(made):
    log = FaultLog()
    assert call(always("crash", made, log=log)).content == "OSError: crash on purpose"
    assert call(always("kill", made, log=log)).content == "SystemExit: killed on purpose"
    hasty = tool(name="echo", timeout=0.05)(made.function)
    assert call(always("hang", hasty, log=log)).status == "timeout"
    replies = [call(always("garbage", made, log=log), seed) for seed in range(30)]
    assert {reply.status for reply in replies} == {"ok", "infra_error"}
    assert len({reply.content for reply in replies}) == 5 and all(reply.content.encode() for reply in replies)
    assert log.counts == {"crash": 1, "kill": 1, "hang": 1, "garbage": 30}
    log.released.set()


def test_tool_without_faults_is_unchanged():
    other = faulty(echo, **NEVER)
    assert other.schema == echo.schema and other("x") == "x" and check_tool(other, arguments={"text": "a"})


def test_faults_depend_on_call_seed_and_try():
    def struck(seed):
        log = FaultLog()
        of = faulty(echo, crash=0.3, hang=0.0, garbage=0.3, kill=0.1, seed=seed, log=log)
        return [call(of, n).content[:20] for n in range(60)], log.counts

    assert struck(0) == struck(0) and struck(0)[0] != struck(1)[0]
    counts = struck(0)[1]
    assert set(counts) == {"crash", "garbage", "kill"}
    assert 9 < counts["crash"] < 29 and 9 < counts["garbage"] < 29, "18 of each are expected, give or take 3.5"

    @tool(retries=20)
    def again(text: str) -> str:
        """Say it again."""
        return text

    of = faulty(again, **(NEVER | {"crash": 0.5}))
    assert {call(of, n).status for n in range(30)} == {"ok"}, "a further try has a draw of its own"


def test_kill_hits_the_process_behind_a_tool():
    class Shell:
        def __init__(self):
            self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

        @tool
        def ask(self, text: str) -> str:
            """Ask the process."""
            if self.process.wait(20):
                raise InfrastructureError("the process is dead")
            return text

    (of,) = always("kill", Shell, process=lambda owner: owner.process.pid)()
    reply = of.run(ToolCall("ask", {"text": "hi"}, "c0"))
    assert (reply.status, of.owner.process.returncode) == ("infra_error", -9)


def test_faulty_environment_keeps_auxiliary_replies():
    class Hearing(OnlyStep):
        def on_aux_reply(self, turn, *, seed):
            return turn.text

    task = Task("t", (Message("user", "go"),))
    assert not isinstance(faulty_env(OnlyStep)(task), OnAuxReply)
    env = faulty_env(Hearing, **(NEVER | {"crash": 1}))(task)
    assert isinstance(env, OnAuxReply) and env.on_aux_reply(ParsedTurn("hi"), seed=0) == "hi"


@pytest.mark.slow
@pytest.mark.parametrize("made", [echo, aecho])
def test_faulty_environment_fails_steps(made):
    task = Task("t", (Message("user", "go"),))
    turn = ParsedTurn("", (ToolCall(made.schema.name, {"text": "hi"}, "c0"),))

    def answer(factory, seed=0, **settings):
        env = factory(task)
        workers = Workers(1, **settings)
        workers.submit(0, Act(env, turn, seed))
        ((_, answer),) = workers.ready(None)
        env.close()
        workers.close()
        return answer

    inner, log = tool_chat([made]), FaultLog()
    assert isinstance(faulty_env(inner)(task), AsyncEnv) and not isinstance(faulty_env(OnlyStep)(task), AsyncEnv)
    assert answer(faulty_env(inner, **NEVER)).value.messages == answer(inner).value.messages
    for factory in (inner, OnlyStep):
        assert type(answer(faulty_env(factory, **(NEVER | {"crash": 1}), log=log)).error) is OSError
        assert type(answer(faulty_env(factory, **(NEVER | {"kill": 1}), log=log)).error) is SystemExit
        hung = answer(faulty_env(factory, **(NEVER | {"hang": 1}), log=log), seconds=0.1)
        assert type(hung.error) is InfrastructureError
        kinds = {repr(answer(faulty_env(factory, **(NEVER | {"garbage": 1})), seed).value)[:60] for seed in range(40)}
        assert len(kinds) == 7
    assert log.counts == {"crash": 2, "kill": 2, "hang": 2}
    log.released.set()


class OnlyStep:
    def __init__(self, task):
        self.task = task

    def close(self):
        pass


def test_invalid_probabilities_raise():
    for odds in ({"crash": -0.1}, {"crash": 0.9, "hang": 0.2}):
        with pytest.raises(InputError, match="together 1 or less"):
            faulty(echo, **odds)


# --- what a run makes of it ----------------------------------------------------------------------------------------


def play(env, count, engine, chat, workers):
    tasks = in_order(arithmetic.tasks(count=count, seed=0)).next(0, count)
    attempts = [
        Attempt(task, env, chat, Sampling(max_tokens=32), f"{task.id}/0", 0, derive_seed(5, task.id), engine.max_length)
        for task in tasks
    ]
    return [one for (one,) in run(attempts, linear(max_turns=3), engine, workers=workers)]


def kinds_of(trajectories):
    """Extract faults from the endings."""
    signs = {
        "crash on purpose": "crash",
        "gave no reply": "hang",
        "gave no answer": "hang",
        "SystemExit": "kill",
        "the process is dead": "kill",
        "reply cannot be used": "garbage",
        "neither text nor JSON": "garbage",
        "invalid utf-8": "garbage",
    }
    reasons = [one.ending.reason for one in trajectories if one.ending.kind == "infra_error"]
    return collections.Counter(next(kind for sign, kind in signs.items() if sign in reason) for reason in reasons)


@pytest.mark.slow
@pytest.mark.exact
def test_rollouts_without_faults_are_unchanged():
    model, chat = load("tiny")
    model.module.double()  # the attempts beside are others, which changes the rounding
    engine, log = LocalEngine(model), FaultLog()
    before = set(threading.enumerate())
    clean = play(tool_chat([calculator]), 60, engine, chat, Workers(4))
    workers = Workers(4)
    odds = {"crash": 0.1, "hang": 0.1, "garbage": 0.05, "kill": 0.05}
    struck = play(tool_chat([faulty(calculator, **odds, seed=1, log=log)]), 60, engine, chat, workers)

    assert min(log.counts[kind] for kind in odds) > 0, "every kind of fault struck"
    found = kinds_of(struck)
    for kind in ("crash", "hang", "kill"):
        assert found[kind] == log.counts[kind]
    assert found["garbage"] <= log.counts["garbage"], "some garbage is text, which the policy reads"
    mirror = FaultLog()
    oracle = faulty(calculator, **odds, seed=1, log=mirror)
    healthy = 0
    for a, b in zip(clean, struck, strict=True):
        seeds = [derive_seed(t.seed, n) for t in a.turns for n, _ in enumerate(t.parsed.calls)]
        if any(oracle.faults.draw(seed)[0] for seed in seeds):
            continue
        healthy += 1
        assert np.array_equal(a.sequences[0].ids, b.sequences[0].ids) and a.ending == b.ending
        np.testing.assert_allclose(a.sequences[0].logp, b.sequences[0].logp, rtol=1e-6)
    assert 20 < healthy < 60

    hung = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert len(hung) == workers.abandoned == log.counts["hang"], "only what hangs is left, and it is counted"
    log.released.set()
    for thread in hung:
        thread.join(30)
        assert not thread.is_alive()
    assert workers.abandoned == 0


class Calls(LocalEngine):
    """Trainable engine; the first turn is a call, the second its result for an even seed and a lie otherwise."""

    stream = None  # a turn at a time

    def sample(self, requests):
        out = []
        for request in requests:
            words = [ToolCall("calculator", {"expression": "6*7"}), "41" if request.seed % 2 else "42"]
            ids = encode_reply(Compact(), words[request.turn], [calculator.schema])
            zeros = [0.0] * len(ids)
            out.append(Completion(ids, zeros, zeros, [self.version] * len(ids), "stop"))
        return out


class InProcess:
    """Calculator in a separate process; `ended` collects exit codes."""

    def __init__(self, ended):
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.ended = ended

    @tool(timeout=5.0)
    def calculator(self, expression: str) -> str:
        """Work out an expression."""
        try:
            self.process.stdin.write(expression.encode() + b"\n")
        except OSError:
            raise InfrastructureError("the process is dead") from None
        if not (said := self.process.stdout.readline()):
            raise InfrastructureError("the process is dead")
        return real_calculator(said.decode().strip())

    def close(self):
        self.process.stdin.close()
        self.ended.append(self.process.wait(30))
        self.process.stdout.close()


def long_run(env, reward, workers, out):
    """Run two steps of 8 groups of 16 rollouts, each a call and an answer; returns every recorded group."""
    result = train(
        engine=Calls(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=256))),
        format=Compact(),
        env=env,
        tasks=in_order([Task(f"t{i}", (Message("user", "6*7?"),), "42") for i in range(16)]),
        reward=reward,
        rollout=linear(max_turns=3),
        credit=group_norm(),
        learning_rate=3e-4,
        sampling=Sampling(max_tokens=32),
        steps=2,
        groups=8,
        group_size=16,
        async_config=AsyncConfig(workers=workers),
        loss=policy(ratio=token(), surrogate=clip(), reduction=token_mean()),
        run=RunConfig(out=out, progress=False),
    )
    assert len(result.metrics) == 2 and all(np.isfinite(m["loss"]) and m["grad_norm"] > 0 for m in result.metrics)
    with RunRecord.open(out) as record:
        return result.metrics, record.groups()


SLOW = [pytest.param(broken, marks=pytest.mark.slow) for broken in ("process behind a tool", "environment")]


@pytest.mark.parametrize("broken", ["tool", *SLOW])
def test_training_continues_and_scores_no_infrastructure_fault(broken, tmp_path):
    """Every kind of fault strikes with its probability, is counted once, and its rollout is never scored."""
    shown, ended, log, exact = [], [], FaultLog(), exact_match()

    def reward(group):
        shown.extend(trajectory.id for trajectory in group)
        return exact(group)

    options = {"crash": 0.1, "hang": 0.1, "garbage": 0.05, "kill": 0.01, "seed": 2, "log": log}
    if broken == "environment":
        env, seconds = faulty_env(tool_chat([calculator]), **options), 8.0
    else:
        made = calculator if broken == "tool" else partial(InProcess, ended)
        env, seconds = tool_chat([faulty(made, **options, process=lambda owner: owner and owner.process.pid)]), 60.0
    metrics, groups = long_run(env, reward, Workers(32, seconds=seconds), tmp_path)
    log.released.set()

    attempts = [one for group in groups for one in group.played.group]
    assert len(attempts) == 256 and set(log.counts) == {"crash", "hang", "garbage", "kill"}
    assert 15 < log.counts["crash"] < 75 and 15 < log.counts["hang"] < 75 and 5 < log.counts["garbage"] < 35
    read = collections.Counter(garbage=sum(r.status == "ok" and r.content != "42" for t in attempts for r in t.replies))
    assert kinds_of(attempts) + read == log.counts, "what ended an attempt, and garbage that is text for the policy"
    dead = {one.id for one in attempts if one.ending.kind == "infra_error"}
    assert len(dead) == sum(log.counts.values()) - read["garbage"] == sum(m["ending/infra_error"] for m in metrics)
    assert sum(m[name] for m in metrics for name in m if name.startswith("ending/")) == 256
    if broken == "process behind a tool":
        # One more was made to learn what tools there are.
        assert collections.Counter(ended) == {0: 257 - log.counts["kill"], -9: log.counts["kill"]}

    assert sorted(shown) == sorted(one.id for one in attempts if one.id not in dead)
    for group in groups:
        played = group.played.group
        healthy = [one.id not in dead for one in played]
        assert [group.place(i) is not None for i in range(len(played))] == healthy
        assert [is_trained(group, i) for i in range(len(played))] == healthy
        alive = [one for one in played if one.id not in dead]
        right = [one.ending.kind == "completed" and one.messages[-1].content == "42" for one in alive]
        assert group.scores.outcome.tolist() == right and 0 < sum(right) < len(right)
