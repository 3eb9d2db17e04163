from helpers.methods import made

from handaxe.core.records import Sampling, ToolCall
from handaxe.core.requests import Attempt
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator


def test_a_failed_call_is_resampled_in_evaluations():
    """The scripted policy writes a failing call, then an answer."""
    method, lines = made("thor_self_correction", "--retries", "2"), ["12*", "2"]
    (task,) = method.world.tasks("test", 1, 0)

    def script(text, turn):
        return ToolCall("calculator", {"expression": lines.pop(0)}) if lines else "2"

    engine = ScriptedEngine(Compact(), script, tools=(calculator.schema,))
    env = method.world.env(method.world.tools)
    one = Attempt(task, env, Compact(), Sampling(max_tokens=48), "t/0", 0, 5, 800)
    (played,) = run_plan(method.evaluate_rollout(one), sample=lambda name, request: engine.sample([request])[0])
    assert [reply.status for reply in played.replies] == ["ok"]
    assert played.notes["redrawn"] == [{"turn": 0, "tries": 1, "kept": 0}]
