"""A scripted rollout of candidates: turns write digits, and a verifier reads the last digit of the result."""

import numpy as np

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.sport.step_candidates import step_candidates
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.testing.scripted_engine import ScriptedEngine
from helpers.written_pad import Pad


class Digits:
    """A verifier that reads the last digit of the last turn's result."""

    def __init__(self, fails=False):
        self.fails = fails
        self.seen = []

    def score(self, group):
        if self.fails:
            raise InfrastructureError("the verifier is down")
        told = [one.turns[-1].replies[0].content if one.turns[-1].replies else one.final_text for one in group]
        self.seen.append(told)
        return np.array([float(text[-1]) for text in told])


def play(words, *, judge=None, seed=3, sampled=None, **knobs):
    """Turns say the words in the order of sampling: one digit is written, a longer word is an answer."""
    sampled = [] if sampled is None else sampled
    said = iter(words)

    def script(text, turn):
        word = next(said)
        sampled.append((text.rsplit("<TOOL>", 1)[-1].split("<END>")[0] if "<TOOL>" in text else "", word))
        return word if len(word) > 1 else ToolCall("write", {"text": word})

    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])
    task = Task("t", (Message("user", "go"),))
    attempt = Attempt(task, tool_chat([Pad]), Compact(), Sampling(max_tokens=40), "t/0", 0, seed, 1000)
    plan = step_candidates(**{"judge": judge or Digits(), "samples": 3, "max_turns": 6} | knobs)(attempt)
    return run_plan(plan, sample=lambda name, request: engine.sample([request])[0])


# First turn: 2 5 1, the second is best. Second turn, behind "5": 4 6 6, the first 6 is best. Third: an answer is best.
WORDS = ["2", "5", "1", "4", "6", "6", "a9", "b3", "8"]
