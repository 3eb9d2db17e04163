import asyncio
import dataclasses
import threading
import time
from contextlib import closing

import numpy as np
import pytest
import torch

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import Attempt, EnvReply, Measure, Sample, Stopped, Work
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rollouts.driver import Driver, run
from handaxe.rollouts.driver.batch_stream import BatchStream
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools import tool

ECHO = ToolSchema("echo", "Says it again.", {"type": "object", "properties": {"text": {"type": "string"}}})


class EchoEnv:
    made = closed = 0

    def __init__(self, task):
        self.task = task
        EchoEnv.made += 1

    def start(self):
        return self.task.messages, (ECHO,)

    def step(self, turn, *, seed):
        if not turn.calls:
            return EnvReply(done=True)
        if turn.calls[0].arguments["text"] == "die":
            raise ConnectionError("the sandbox is gone")
        call = turn.calls[0]
        text = call.arguments["text"]
        return EnvReply((Message("tool", text, call_id=call.id),), (ToolReply(call.id, call.name, text),))

    def report(self):
        return {}

    def snapshot(self):
        return None

    def restore(self, state):
        del state

    def close(self):
        EchoEnv.closed += 1


def attempts(count, env=EchoEnv):
    return [
        Attempt(Task(f"t{i}", (Message("user", f"say {i}"),)), env, Compact(), Sampling(), f"t{i}/0", 0, i, 500)
        for i in range(count)
    ]


def words(text, turn):
    """Every third conversation answers at once, the others call first; number 7 kills its sandbox."""
    number = int(text.split("say ")[1].split("<")[0])
    if turn == 0 and number % 3:
        return ToolCall("echo", {"text": "die" if number == 7 else f"number {number}"})
    return f"done {number}"


def engine():
    return ScriptedEngine(Compact(), words, tools=[ECHO])


def test_every_rollout_gets_its_own_answers_in_order():
    EchoEnv.closed = 0
    results = run(attempts(12), linear(), engine(), workers=3)
    for i, (trajectory,) in enumerate(results):
        records.check(trajectory)
        assert trajectory.id == f"t{i}/0"
        if i == 7:
            assert trajectory.ending.kind == "infra_error" and "sandbox is gone" in trajectory.ending.reason
            continue
        assert trajectory.ending == Ending("completed") and trajectory.final_text == f"done {i}"
        assert [r.content for r in trajectory.replies] == ([f"number {i}"] if i % 3 else [])
    assert EchoEnv.closed == 12


def test_one_worker_equals_eight():
    one, eight = (run(attempts(12), linear(), engine(), workers=n) for n in (1, 8))
    for (a,), (b,) in zip(one, eight, strict=True):
        assert list(a.sequences[0].ids) == list(b.sequences[0].ids) and a.ending == b.ending


def test_tools_of_a_round_run_concurrently():
    """Four environments that each wait for all four: with one worker this would never end."""
    barrier = threading.Barrier(4, timeout=20)

    class Waiting(EchoEnv):
        def step(self, turn, *, seed):
            if turn.calls:
                barrier.wait()
            return super().step(turn, seed=seed)

    def always(text, turn):
        return ToolCall("echo", {"text": "x"}) if turn == 0 else "done"

    results = run(attempts(4, Waiting), linear(), ScriptedEngine(Compact(), always, tools=[ECHO]), workers=4)
    assert all(t.ending == Ending("completed") for (t,) in results)


def test_a_dying_engine_closes_every_environment():
    """Every one that was made; attempts that still wait for a thread never make theirs."""

    class Dying(ScriptedEngine):
        def sample(self, requests):
            if any(request.turn for request in requests):
                raise MemoryError("no room")
            return super().sample(requests)

    EchoEnv.made = EchoEnv.closed = 0
    with pytest.raises(MemoryError):
        run(attempts(5), linear(), Dying(Compact(), words, tools=[ECHO]))
    assert EchoEnv.closed == EchoEnv.made > 0


def test_progress_counts_every_rollout():
    seen = []
    run(attempts(9), linear(), engine(), progress=seen.append)
    assert seen == sorted(set(seen)) and seen[-1] == 9


def test_no_attempts_give_no_trajectories():
    assert run([], linear(), engine()) == []


@pytest.mark.parametrize("where", ["make", "start", "report", "close"])
def test_a_failing_environment_ends_its_own_rollout_only(where):
    class Fragile(EchoEnv):
        def __init__(self, task):
            super().__init__(task)
            if where == "make":
                raise OSError("no sandbox left")

        def start(self):
            if where == "start":
                raise OSError("no sandbox left")
            return super().start()

        def report(self):
            if where == "report":
                raise OSError("no sandbox left")
            return {}

        def close(self):
            if where == "close":
                raise OSError("no sandbox left")

    if where == "close":
        with pytest.warns(UserWarning, match="no sandbox left"):
            (first, *_) = run(attempts(2, Fragile), linear(), engine())
        assert first[0].ending == Ending("completed"), "what was played stays valid"
        return
    for (trajectory,) in run(attempts(2, Fragile), linear(), engine()):
        records.check(trajectory)
        assert trajectory.ending == Ending("infra_error", "OSError: no sandbox left")


def test_a_task_error_of_an_environment_is_raised():
    class Picky(EchoEnv):
        def start(self):
            raise InputError("task offers a tool that is not there")

    with pytest.raises(InputError):
        run(attempts(1, Picky), linear(), engine())


# --- nobody waits for anybody else -------------------------------------------------------------------------------


def calls_then_answer(name, **arguments):
    """Rollout i calls the tool `name` twice, with its number, and then answers."""

    def script(text, turn):
        number = int(text.split("say ")[1].split("<")[0])
        which = name(number) if callable(name) else name
        return ToolCall(which, {"number": number, **arguments}) if turn < 2 else f"done {number}"

    return script


def play(tools, script, count, **settings):
    made = [tool.schema for tool in tools]
    engine = ScriptedEngine(Compact(), script, tools=made)
    return run(attempts(count, tool_chat(tools)), linear(), engine, **settings)


@pytest.mark.parametrize("lockstep", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_order_of_tool_replies_has_no_effect(lockstep, asynchronous):
    """Six rollouts, whose tools are let go in a permuted order that events enforce."""

    def played(order, workers):
        gates = [threading.Event() for _ in range(7)]
        follows = dict(zip(order, [*order[1:], 6], strict=True))
        gates[order[0]].set()

        def finish(number):
            gates[follows[number]].set()
            return str(number)

        if asynchronous:

            @tool
            async def turnstile(number: int) -> str:
                """Wait for one's turn."""
                while not gates[number].is_set():
                    await asyncio.sleep(0.001)
                return finish(number)
        else:

            @tool
            def turnstile(number: int) -> str:
                """Wait for one's turn."""
                assert gates[number].wait(20)
                return finish(number)

        return play([turnstile], calls_then_answer("turnstile"), 6, workers=workers, lockstep=lockstep)

    first = played(range(6), 6)
    for order in ((5, 4, 3, 2, 1, 0), (3, 0, 5, 1, 4, 2)):
        for (a,), (b,) in zip(first, played(order, 6), strict=True):
            same(a, b)
    if not asynchronous:  # in this order one thread is enough
        for (a,), (b,) in zip(first, played(range(6), 1), strict=True):
            same(a, b)


def same(a, b):
    for one, other in zip(a.sequences, b.sequences, strict=True):
        for name in ("ids", "author", "turn", "logp", "behaviour_logp", "version"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert (a.id, a.ending, a.messages, [r.content for r in a.replies]) == (
        b.id,
        b.ending,
        b.messages,
        [r.content for r in b.replies],
    )


def test_a_tool_may_wait_until_another_rollout_has_ended():
    over = threading.Event()

    @tool(timeout=60)
    def patient(number: int) -> str:
        """Wait for the others."""
        assert over.wait(50)
        return "at last"

    @tool
    def quick(number: int) -> str:
        """Do it."""
        return "now"

    results = play(
        [patient, quick],
        calls_then_answer(lambda number: "quick" if number else "patient"),
        5,
        workers=2,
        progress=lambda done: done == 4 and over.set(),
    )
    assert all(trajectory.ending == Ending("completed") for (trajectory,) in results)
    assert [reply.content for reply in results[0][0].replies] == ["at last"] * 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_waiting_for_a_limited_tool_holds_no_thread(asynchronous):
    """Sixteen rollouts, three threads: fifteen want a tool that one may use at a time, and that answers only when the
    sixteenth, which wants another tool, has ended."""
    over, inside, most = threading.Event(), [], []

    def enter():
        inside.append(1)
        most.append(len(inside))

    if asynchronous:

        @tool(limit=1, timeout=60)
        async def scarce(number: int) -> str:
            """Be used by one at a time."""
            enter()
            while not over.is_set():
                await asyncio.sleep(0.001)
            inside.pop()
            return "scarce"
    else:

        @tool(limit=1, timeout=60)
        def scarce(number: int) -> str:
            """Be used by one at a time."""
            enter()
            assert over.wait(50)
            inside.pop()
            return "scarce"

    @tool
    def plenty(number: int) -> str:
        """Be there."""
        return "plenty"

    script = calls_then_answer(lambda number: "plenty" if number == 15 else "scarce")
    results = play([scarce, plenty], script, 16, workers=3, progress=lambda done: over.set())
    assert all(trajectory.ending == Ending("completed") for (trajectory,) in results)
    assert max(most) == 1 and len(most) == 30


def test_a_hanging_tool_delays_no_other_rollout():
    release = threading.Event()

    @tool(timeout=0.05)
    def hang(number: int) -> str:
        """Hang."""
        release.wait(60)
        return "never"

    @tool(timeout=60)
    def work(number: int) -> str:
        """Work."""
        return "done"

    script = calls_then_answer(lambda number: "work" if number % 2 else "hang")
    results = play([hang, work], script, 8, workers=1)
    for number, (trajectory,) in enumerate(results):
        assert trajectory.ending.kind == ("completed" if number % 2 else "infra_error")
    release.set()


def test_in_lockstep_each_round_is_one_batch():
    class Counting(ScriptedEngine):
        def sample(self, requests):
            batches.append([(request.turn, len(request.ids)) for request in requests])
            return super().sample(requests)

    found = []
    for workers in (1, 8):
        batches = []
        run(attempts(9), linear(), Counting(Compact(), words, tools=[ECHO]), workers=workers, lockstep=True)
        found.append(batches)
    assert found[0] == found[1] and [len(batch) for batch in found[0]] == [9, 5]


def test_engines_with_a_stream_sample_through_it():
    class Streaming(ScriptedEngine):
        def stream(self):
            streams.append(BatchStream(super()))
            return streams[-1]

        def sample(self, requests):
            raise AssertionError("it has a stream")

    streams = []
    results = run(attempts(6), linear(), Streaming(Compact(), words, tools=[ECHO]))
    assert len(streams) == 1 and all(t.ending == Ending("completed") for (t,) in results)


class Watched(LocalEngine):
    """Remembers its streams."""

    def stream(self):
        self.streams = [*getattr(self, "streams", []), super().stream()]
        return self.streams[-1]


def tiny(dtype=torch.float32):
    model = TinyModel.new(TinyConfig(layers=1, width=32, heads=2))
    model.module.to(dtype)
    return Watched(model)


def talk(attempt):
    """Four turns or two, each answered with three ids; returns all ids, where turns were written, the log-probs."""
    ids, written, logp = [7] * 20 + [attempt.seed] * 10, [], []
    for turn in range(4 - 2 * (attempt.seed % 2)):
        said = yield Sample(list(ids), Sampling(max_tokens=9), 4 * attempt.seed + turn, frozenset({1, 2, 3}))
        yield Work(lambda: time.sleep(0.002 * (attempt.seed % 3)))
        written.append(range(len(ids), len(ids) + len(said.ids)))
        ids += [*said.ids, 4, 5, turn]
        logp += said.logp
    return [ids, written, logp]


@pytest.mark.parametrize("lockstep", [False, True])
def test_each_prefix_is_computed_once(lockstep):
    """Read is what nobody had sampled and the last token of a turn once it is answered, each prefix once, whoever of
    siblings and turns has it. What ends a conversation is not read."""
    engine, read = tiny(), set()
    for ids, written, _ in run(attempts(4), talk, engine, lockstep=lockstep):
        sampled = {at for turn in written for at in turn[:-1]}
        asked = range(written[-1].start)
        read |= {tuple(ids[: at + 1]) for at in asked if at not in sampled}
    assert sum(stream.read_tokens for stream in engine.streams) == len(read)


@pytest.mark.exact
def test_in_lockstep_an_idle_driver_plays_like_a_new_one():
    """To the last bit, though the same weights may have read what it begins with: so a run resumes bit for bit."""
    engine = tiny()

    def play(driver, some):
        for one in some:
            driver.add(one, talk)
        over = {}
        while driver.live:
            over |= {attempt.id: found for attempt, found in driver.advance()}
        return [over[one.id] for one in some]

    with closing(Driver(engine, lockstep=True)) as driver:
        play(driver, attempts(5))
        assert engine.streams[0].cached_tokens == 0
        after = play(driver, attempts(3))
        for one in attempts(2):
            driver.add(one, talk)
        assert [attempt.id for attempt, _ in driver.advance()] == ["t1/0"]
        driver.stop(["t0/0"])
        assert all(stream.cached_tokens == len(stream) == 0 for stream in engine.streams)
    with closing(Driver(engine, lockstep=True)) as driver:
        assert play(driver, attempts(3)) == after


@pytest.mark.exact
@pytest.mark.parametrize("workers", [1, 8])
def test_tokens_are_independent_of_tools_and_workers(workers):
    """The tiny model, event-driven and in rounds, which compute other rows together: in float64, so that no rounding
    tips a draw. Records are in float32."""
    engine = tiny(torch.float64)
    pause = iter([0.0, 0.02, 0.005, 0.0, 0.01] * 100)

    class Slow(EchoEnv):
        def step(self, turn, *, seed):
            time.sleep(next(pause))
            call = turn.calls[0].id if turn.calls else ""
            return EnvReply((Message("tool", str(seed % 97), call_id=call),))

    def play(**settings):
        made = [dataclasses.replace(one, sampling=Sampling(max_tokens=12)) for one in attempts(6, Slow)]
        return run(made, linear(max_turns=3), engine, **settings)

    rounds, events = play(workers=1, lockstep=True), play(workers=workers)
    for (a,), (b,) in zip(rounds, events, strict=True):
        assert a.ending == b.ending
        for one, other in zip(a.sequences, b.sequences, strict=True):
            assert np.array_equal(one.ids, other.ids)
            np.testing.assert_allclose(one.logp, other.logp, rtol=1e-6)
    for (a,), (b,) in zip(rounds, play(workers=8, lockstep=True), strict=True):
        same(a, b)


def wondering(attempt):
    """Two turns; before the second it asks how likely the first was."""
    ids, found = [7] * 5 + [attempt.seed] * 3, []
    for turn in range(2):
        start = len(ids)
        said = yield Sample(list(ids), Sampling(max_tokens=4), 2 * attempt.seed + turn, frozenset())
        ids += said.ids
        answer = yield Measure(list(ids), start, ("logp", "entropy"))
        found.append((said.logp, answer["logp"], answer["entropy"]))
    return found


@pytest.mark.parametrize("lockstep", [False, True])
def test_measured_log_probs_equal_sampled_ones(lockstep):
    engine = tiny(torch.float64)
    batches, measure = [], engine.measure
    engine.measure = lambda requests: batches.append(len(requests)) or measure(requests)
    for found in run(attempts(3), wondering, engine, lockstep=lockstep):
        for drawn, measured, entropy in found:
            assert measured == pytest.approx(drawn, abs=1e-6) and min(entropy) > 0
    assert batches == [3, 3]  # who waits at the same time is asked about in one batch


def test_a_measuring_plan_can_be_stopped():
    seen = []

    def plan(attempt):
        try:
            yield Measure([1, 2, 3], 1)
        except Stopped as stopped:
            seen.append(stopped.partial)
        return ["stopped"]

    engine, asked = tiny(), attempts(2)
    with closing(Driver(engine)) as driver:
        for one in asked:
            driver.add(one, plan)
        driver._scheduler.resume(driver._scheduler.new.pop(0))
        assert [found.trajectories for found in driver.stop([asked[0].id])] == [["stopped"]]
        assert driver.live == 1
    assert seen == [None]


def test_an_engine_without_measure_is_an_error():
    with pytest.raises(InputError, match="measures logp, which ScriptedEngine cannot"):
        run(attempts(1), lambda attempt: (yield Measure([1, 2], 1)), engine())
