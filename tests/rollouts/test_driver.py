import threading

import pytest

from handaxe import records
from handaxe.errors import InputError
from handaxe.models.compact import Compact
from handaxe.records import Ending, Message, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.slots import Attempt, EnvReply
from handaxe.testing.scripted import ScriptedEngine

ECHO = ToolSchema("echo", "Says it again.", {"type": "object", "properties": {"text": {"type": "string"}}})


class EchoEnv:
    closed = 0

    def __init__(self, task):
        self.task = task

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


def test_every_attempt_gets_its_own_answers_in_order():
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


def test_tools_of_a_round_run_side_by_side():
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
    class Dying(ScriptedEngine):
        def sample(self, requests):
            if requests[0].turn:
                raise MemoryError("no room")
            return super().sample(requests)

    EchoEnv.closed = 0
    with pytest.raises(MemoryError):
        run(attempts(5), linear(), Dying(Compact(), words, tools=[ECHO]))
    assert EchoEnv.closed == 5


def test_progress_counts_to_the_end():
    seen = []
    run(attempts(9), linear(), engine(), progress=seen.append)
    assert seen == sorted(set(seen)) and seen[-1] == 9


def test_nothing_to_do():
    assert run([], linear(), engine()) == []


@pytest.mark.parametrize("where", ["make", "start", "report", "close"])
def test_an_environment_may_die_at_any_moment(where):
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


def test_a_task_that_an_environment_cannot_take_is_the_users_error():
    class Picky(EchoEnv):
        def start(self):
            raise InputError("task offers a tool that is not there")

    with pytest.raises(InputError):
        run(attempts(1, Picky), linear(), engine())
