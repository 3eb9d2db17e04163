from dataclasses import replace

from handaxe.core.records import Message, Sampling, Task
from handaxe.core.requests import Attempt, Completion, EnvReply
from handaxe.models.chat_formats.compact import END, Compact
from handaxe.papers.inspo.with_system_prompt import with_system_prompt
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear


class Once:
    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        return EnvReply(done=True)

    def report(self):
        return {}

    def close(self):
        pass


def test_with_system_prompt_plays_the_opened_task():
    task = Task("t", (Message("user", "2*21?"),))
    words = Message("system", "Be short.")
    rollout = with_system_prompt(rollout=linear(), opening=lambda one: replace(one, messages=(words, *one.messages)))
    attempt = Attempt(task, Once, Compact(), Sampling(max_tokens=8), "t/0", 0, 5, 1000)
    (made,) = run_plan(
        rollout(attempt), sample=lambda name, asked: Completion([52, END], [-0.5] * 2, [-0.5] * 2, [3] * 2, "stop")
    )
    assert made.task.id == "t" and made.messages[:2] == (words, *task.messages) and made.final_text == "4"
    assert Compact().decode(made.sequences[0].ids).startswith("<SYSTEM>Be short.<END><USER>2*21?")
