from handaxe.chat.persistent_env import PersistentEnv
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.core.requests import EnvReply

TASK = Task("chat", (Message("user", "hello"),))


class Inner:
    """Environment that counts starts, steps and closes."""

    def __init__(self):
        self.starts, self.steps = 0, 0
        self.closes = 0

    def start(self):
        self.starts += 1
        return (Message("user", "hello"),), ()

    def step(self, turn, *, seed):
        self.steps += 1
        return EnvReply(done=not turn.calls)

    def close(self):
        self.closes += 1


def test_persistent_env_starts_once_and_closes_on_release_only():
    made = []
    env = PersistentEnv(lambda task: made.append(Inner()) or made[-1])
    assert env(TASK) is env and env.start() == env.start() == ((Message("user", "hello"),), ())
    env.close()
    assert len(made) == 1 and (made[0].starts, made[0].closes) == (1, 0)
    env.release()
    env.release()
    assert made[0].closes == 1


def test_watch_is_called_before_and_after_turns_with_calls():
    seen = []
    env = PersistentEnv(lambda task: Inner(), lambda turn, reply: seen.append((turn, reply)))
    env(TASK).start()
    env.step(ParsedTurn(Message("assistant", "408")), seed=0)
    assert not seen
    call = ToolCall("calculator", {}, "c0")
    turn = ParsedTurn(Message("assistant", "", (call,)), (call,))
    reply = env.step(turn, seed=0)
    assert seen == [(turn, None), (turn, reply)]
