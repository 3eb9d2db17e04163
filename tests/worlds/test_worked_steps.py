import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.worked_steps import Sheet, worked_steps


def written(world, task, *said):
    """A rollout with these lines and a final answer."""

    def speaker(task, facts):
        text = said[facts["turn"]]
        is_line = facts["turn"] < len(said) - 1
        return Message("assistant", "" if is_line else text, (ToolCall("line", {"text": text}),) if is_line else ())

    return demonstrate(world.env(world.tools), task, speaker, format=Compact(), max_turns=12)


def task_of(world, expression):
    one = world.tasks("train", 1, 0)[0]
    total = sum(map(int, expression.split("+")))
    parity = one.answer in ("odd", "even")
    asked = f"{expression} odd?" if parity else f"{expression}=?"
    answer = ("even", "odd")[total % 2] if parity else str(total)
    metadata = {"expression": expression, "terms": expression.count("+") + 1}
    return type(one)("t", (Message("user", asked),), answer, None, metadata)


@pytest.mark.parametrize("ask", ["sum", "parity"])
def test_worked_steps_keeps_the_world_contract(ask):
    check_world(worked_steps(ask=ask, mistakes=0.5), count=24)


def test_verdicts_mark_the_incorrect_line_of_the_example():
    world = worked_steps()
    one = written(world, task_of(world, "4+7+3"), "4+7=12", "no", "4+7=11", "11+3=14", "14")
    assert [reply.content for reply in one.replies] == ["12+3", "4+7+3", "11+3", "14"]
    assert world.verdicts(one).tolist() == [-1, 1, 1, 1, 1]
    assert world.correct(Group(one.task, (one,))).outcome[0] == 1


def test_lucky_counts_correct_answers_after_an_incorrect_line():
    world = worked_steps(ask="parity")
    lucky = written(world, task_of(world, "4+7+3"), "4+7=13", "13+3=16", "even")
    assert world.correct(Group(lucky.task, (lucky,))).outcome[0] == 1
    assert world.verdicts(lucky).tolist() == [-1, 1, 1]
    mended = written(world, task_of(world, "4+7+3"), "4+7=13", "no", "4+7=11", "11+3=14", "even")
    counted = [
        (world.gauges["lucky"].top(one, 1.0), world.gauges["wrong_lines"].top(one, 1.0)) for one in (lucky, mended)
    ]
    assert counted == [(1.0, 1.0), (0.0, 1.0)]
    assert world.gauges["wrong_lines"].bottom(mended, 1.0) == 3 and world.gauges["lucky"].bottom(mended, 0.0) == 0


def test_mistakes_is_the_rate_of_corrected_lines_of_the_expert():
    world = worked_steps(mistakes=0.5)
    slipped = []
    for task in world.tasks("train", 60, 1):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=12, context=512)
        wrong = [k for k, verdict in enumerate(world.verdicts(one)) if verdict < 0]
        assert all(one.calls[k + 1].arguments == {"text": "no"} for k in wrong) and len(wrong) <= 1
        assert len(one.turns) == task.metadata["terms"] + 2 * len(wrong)
        slipped.append(len(wrong))
    assert 0.3 < sum(slipped) / len(slipped) < 0.7


def test_a_sheet_restores_snapshots_and_rejects_other_lines():
    sheet = Sheet("4+7+3")
    sheet.line.function(sheet, "4+7=11")
    kept = sheet.snapshot()
    sheet.line.function(sheet, "no")
    assert sheet.report() == {"left": "4+7+3"}
    for text in ("no", "7+3=10", "4+7", "4+70=74", "4+7+3"):
        with pytest.raises(Exception, match="go on from|no line"):
            sheet.line.function(sheet, text)
    sheet.restore(kept)
    assert sheet.report() == {"left": "11+3"} and kept == ["4+7+3", "11+3"]


@pytest.mark.parametrize("wrong", [{"ask": "product"}, {"mistakes": 2.0}])
def test_invalid_arguments_raise(wrong):
    with pytest.raises(InputError, match="worked_steps takes ask"):
        worked_steps(**wrong)


def test_warmup_covers_all_lines_and_no_question():
    start, lines = worked_steps().start, set()
    said = dict(start.warmup)
    for task in worked_steps().tasks("train", 200, 0):
        terms = [int(one) for one in task.metadata["expression"].split("+")]
        lines |= {f"{sum(terms[:k])}+{terms[k]}" for k in range(1, len(terms))}
        assert task.messages[0].content not in said
    assert all(said[one] == f"{one}={sum(map(int, one.split('+')))}" for one in lines)
    assert worked_steps(ask="parity").start.warmup == ()
