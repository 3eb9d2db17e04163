"""A scripted depth-first tree: digits are written, "x" is a call that fails, a longer word is an answer."""

from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tp_llama.decision_tree import decision_tree
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.scripted_engine import ScriptedEngine
from helpers.written_pad import Pad

# The entry's tree: a fails; b; below b, c is a wrong answer and d is correct.
WORDS = ["x", "2", "no", "yes"]


def play_tree(words, *, sampled=None, seed=3, **knobs):
    """Turns say the words in the order of sampling; "yes" is the correct answer."""
    sampled = [] if sampled is None else sampled
    said = iter(words)

    def script(text, turn):
        word = next(said)
        sampled.append((text.rsplit("<TOOL>", 1)[-1].split("<END>")[0] if "<TOOL>" in text else "", word))
        if word == "x":
            return ToolCall("absent", {})
        return word if len(word) > 1 else ToolCall("write", {"text": word})

    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])
    task = Task("t", (Message("user", "go"),), "yes")
    attempt = Attempt(task, tool_chat([Pad]), Compact(), Sampling(max_tokens=40), "t/0", 0, seed, 1000)
    correct = outcome(lambda one: float(one.final_text == "yes"))
    plan = decision_tree(**{"outcome": correct, "children": 3, "nodes": 24, "max_turns": 4} | knobs)(attempt)
    return run_plan(plan, sample=lambda name, request: engine.sample([request])[0])


def words_of(one):
    """Words of the turns of a trajectory."""
    return [
        (turn.parsed.calls[0].arguments.get("text", "x") if turn.parsed.calls else turn.parsed.text or "x")
        for turn in one.turns
    ]
