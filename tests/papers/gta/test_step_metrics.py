import random

import pytest

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.papers.gta.step_metrics import Prediction, step_metrics


def turn(name=None, argument="", text="", errors=()):
    return ParsedTurn(text, (ToolCall(name, {"x": argument}),) if name else (), tuple(errors))


def call(name, argument):
    return ToolCall(name, {"x": argument})


def test_step_metrics_matches_its_example():
    chain = [
        Prediction(call("zoom", "a"), turn("zoom", "a")),
        Prediction(call("ocr", "b"), turn("ocr", "c")),
        Prediction(None, turn(text="8"), 1.0),
    ]
    assert step_metrics(chain) == {"inst_acc": 1, "tool_acc": 1, "arg_acc": 0.5, "summ_acc": 1}


def test_a_wrong_kind_a_malformed_call_and_an_empty_answer_are_no_instruction():
    chain = [
        Prediction(call("zoom", "a"), turn(text="8")),
        Prediction(call("zoom", "a"), turn("zoom", "a", errors=["open"])),
        Prediction(None, turn("zoom", "a", text="8"), 1.0),
        Prediction(None, turn(text=" ")),
    ]
    assert step_metrics(chain) == {"inst_acc": 0, "tool_acc": 0.5, "arg_acc": 0.5, "summ_acc": 0}
    assert step_metrics([]) == {"inst_acc": 0, "tool_acc": 0, "arg_acc": 0, "summ_acc": 0}


def slow_metrics(chain):
    """Counts one step after another, as in the released code."""
    inst = tool = arg = summ = tools = answers = 0
    for gold, predicted, correct in chain:
        kind = "tool" if predicted.calls else "answer" if predicted.text.strip() else "none"
        if gold is None:
            answers += 1
            inst += kind == "answer" and not predicted.errors
            summ += correct if kind != "tool" else 0
            continue
        tools += 1
        inst += kind == "tool" and not predicted.errors
        if kind == "tool" and predicted.calls[0].name == gold.name:
            tool += 1
            arg += predicted.calls[0].arguments == gold.arguments
    ratio = [inst / max(1, tools + answers), tool / max(1, tools), arg / max(1, tools), summ / max(1, answers)]
    return dict(zip(("inst_acc", "tool_acc", "arg_acc", "summ_acc"), ratio))


def test_step_metrics_equals_a_loop_and_arguments_are_never_more_accurate_than_tools():
    rng = random.Random(0)
    for _ in range(200):
        chain = []
        for _ in range(rng.randrange(6)):
            gold = call(rng.choice("ab"), rng.choice("xy")) if rng.random() < 0.7 else None
            name, text = rng.choice(["a", "b", None]), rng.choice(["", "8"])
            predicted = turn(name, rng.choice("xy"), text, rng.choice([(), (), ("open",)]))
            chain.append(Prediction(gold, predicted, float(rng.random() < 0.5)))
        found = step_metrics(chain)
        assert found == pytest.approx(slow_metrics(chain), abs=1e-12)
        assert found["arg_acc"] <= found["tool_acc"]
