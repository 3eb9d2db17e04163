"""How likely the right answer is before every turn, measured while the attempt is played."""

from dataclasses import replace
from math import exp

import pytest
import torch

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Attempt
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.igpo.answer_likelihood import answer_likelihood
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator

TASK = Task("sum", (Message("user", "12*34"),), "408")
MEANS = [-2.0, -1.0, -0.75]


def attempt(task=TASK, context=400):
    return Attempt(task, tool_chat([calculator]), Compact(), Sampling(), "sum/0", 0, 7, context)


def say(text, turn):
    return ToolCall("calculator", {"expression": "12*34"}) if turn < 2 else "408"


class Asked:
    """Answers measurements with the example's means, and keeps what was asked."""

    def __init__(self):
        self.requests = []
        self.engine = ScriptedEngine(Compact(), say, tools=[calculator.schema])

    def measure(self, name, request):
        self.requests.append(request)
        mean = MEANS[len(self.requests) - 1]
        count = len(request.ids) - request.start
        return {"logp": [mean + 0.5 * (k % 2 * 2 - 1) * (k < count // 2 * 2) for k in range(count)]}

    def play(self, rollout, **changes):
        (one,) = run_plan(
            rollout(attempt(**changes)), sample=lambda _, r: self.engine.sample([r])[0], measure=self.measure
        )
        return one


def test_likelihood_is_the_exponential_of_mean_log_probs():
    one = Asked().play(answer_likelihood(max_turns=4))
    check(one)
    assert len(one.turns) == 3
    assert one.notes["answer_likelihood"] == pytest.approx([0.13534, 0.36788, 0.47237], abs=1e-5)


def test_the_measured_tokens_are_the_answer_after_the_policy_context():
    asked = Asked()
    one = asked.play(answer_likelihood(max_turns=4, before="so ", after=" it is"))
    for turn, request in zip(one.turns, asked.requests, strict=True):
        assert list(request.ids[: turn.start]) == one.sequences[0].ids[: turn.start].tolist()
        assert bytes(request.ids[turn.start :]) == b"so 408" and request.start == turn.start + 3


def test_answer_likelihood_plays_the_trajectory_of_linear():
    asked = Asked()
    (plain,) = run_plan(linear(max_turns=4)(attempt()), sample=lambda _, r: asked.engine.sample([r])[0])
    one = asked.play(answer_likelihood(max_turns=4))
    assert one.messages == plain.messages and one.sequences[0].ids.tolist() == plain.sequences[0].ids.tolist()
    assert [turn.seed for turn in one.turns] == [turn.seed for turn in plain.turns]


def test_the_first_answer_is_measured_and_a_full_context_keeps_the_last_value():
    asked = Asked()
    asked.play(answer_likelihood(), task=Task("sum", TASK.messages, ["408", "four hundred"]))
    assert bytes(asked.requests[0].ids[asked.requests[0].start :]) == b"408"
    long = Task("sum", TASK.messages, "4" * 500)
    assert asked.play(answer_likelihood(), task=long).notes["answer_likelihood"] == [0.0] * 3


@pytest.mark.parametrize("answer", [None, "", []])
def test_a_task_without_an_answer_raises_task_error(answer):
    with pytest.raises(TaskError, match="task 'sum' has no answer"):
        Asked().play(answer_likelihood(), task=Task("sum", TASK.messages, answer))


def test_another_model_than_the_policy_is_refused():
    with pytest.raises(InputError, match="only the policy can be measured"):
        Asked().play(lambda attempt: answer_likelihood()(replace(attempt, by="solver")))


@pytest.mark.parametrize("answer", ["7", "408"])
def test_a_model_likelihood_equals_its_sampling_probability(answer):
    """The mean over the answer's tokens of what the model gives each, by a loop over prefixes."""
    model = TinyModel.new(TinyConfig(layers=1, width=32, heads=2), seed=3)
    engine = LocalEngine(TinyModel(model.module.to(torch.float64), pad_id=0))
    (one,) = run_plan(
        answer_likelihood(answer=lambda task: answer)(attempt()),
        sample=lambda _, r: engine.sample([r])[0],
        measure=lambda _, r: engine.measure([r])[0],
    )
    ids, total = one.sequences[0].ids[: one.turns[0].start].tolist(), 0.0
    for byte in answer.encode():
        ids_BT = torch.tensor([ids])
        with torch.no_grad():
            hidden_BTD = engine.model.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool))
            total += engine.model.head(hidden_BTD)[0, -1].log_softmax(0)[byte].item()
        ids.append(byte)
    assert one.notes["answer_likelihood"][0] == pytest.approx(exp(total / len(answer)), abs=1e-9)
