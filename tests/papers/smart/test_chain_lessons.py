import pytest

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.read import Unreadable
from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError
from handaxe.curricula.task_pool import task_pool
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.smart.chain_lessons import ask_justifications, chain_lessons, read_justification
from handaxe.papers.smart.chains import ChainStep, chain_steps
from handaxe.papers.smart.smart_chains import smart_chains
from handaxe.training.stages.context import make_site

WORLD = smart_chains()
TASKS = WORLD.tasks("train", 12, 0)
CODE = ChainStep("code", "12*34", "12*34", "408")
KNOW = ChainStep("know", "3+4", "3+4", "7")


class Writes:
    """An answerer with a text for each step: a stand-in for the words of a model, which no small model writes."""

    terse = True

    def __init__(self, text):
        self.text, self.asked = text, []

    def fingerprint(self):
        return "writes"

    def answer(self, asks):
        self.asked += asks
        return [AskAnswer(text=self.text(ask.fields), by="writes") for ask in asks]


def lessons(count=12, **options):
    policy = load("tiny")
    site = make_site(engine=LocalEngine(policy.model), format=policy.format, env=WORLD.env(WORLD.tools))
    tasks = task_pool(TASKS, seed=0)
    return [one.group[0] for one in chain_lessons(count=count, **options)(site._replace(tasks=tasks))]


def words(one):
    return " ".join(turn.parsed.text for turn in one.turns)


def test_lessons_are_correct_and_justify_each_step():
    for one in lessons():
        assert WORLD.gauges["justified"].top(one, 1.0) == len(chain_steps(one.task))
        assert words(one).endswith(f"answer {one.task.answer}")
    assert all(not words(one).startswith(("know", "code")) for one in lessons(justified=False))


def test_a_model_writes_the_justifications_once_for_each_step():
    writer = Writes(lambda fields: f" since {fields['step']}.\nmore")
    found = lessons(desk=AskDesk(writer))
    for one in found:
        for step in chain_steps(one.task):
            assert f": since {step.text}." in words(one)
    steps = {(step.kind, step.text) for one in found for step in chain_steps(one.task)}
    assert len(writer.asked) == len(steps)


def test_the_longest_justifications_fit_the_token_limit_of_the_method():
    limit = parse_train("smart_er", [], prog="handaxe train", also={"run": RunOptions})[0].settings.max_tokens
    for words, most in (({"desk": AskDesk(Writes(lambda fields: "x" * 90))}, limit), ({}, 96)):
        spans = [turn.stop - turn.start for one in lessons(**words) for turn in one.turns]
        assert max(spans) <= most and (most == 96 or max(spans) > 96)


def test_decisions_are_asked_as_they_are_demonstrated():
    writer = Writes(lambda fields: fields["decision"])
    desk = AskDesk(writer)
    assert ask_justifications(desk, [KNOW, CODE]) == {KNOW: "answer from own knowledge", CODE: "run a program"}
    assert ask_justifications(desk, [KNOW], shown="always") == {KNOW._replace(kind="code"): "run a program"}
    assert all(": run a program." in words(one) for one in lessons(desk=desk, shown="always"))


def test_tasks_with_an_unreadable_justification_are_no_lessons():
    """The rule's words never stand in for a model."""
    bad = chain_steps(TASKS[0])[0].text
    found = lessons(desk=AskDesk(Writes(lambda fields: "" if fields["step"] == bad else "so")))
    assert found and all(bad not in [step.text for step in chain_steps(one.task)] for one in found)
    assert not any(word in words(one) for one in found for word in (": small", ": large"))
    with pytest.raises(InputError, match="no readable texts"):
        lessons(desk=AskDesk(Writes(lambda fields: "\u2603")))


@pytest.mark.parametrize(
    "text, read",
    [(" It is large.\nSo: code", "It is large"), ("a\x00b\u2603c", "abc"), ("x" * 90, "x" * 40), ("no. ", "no")],
)
def test_a_justification_is_one_short_line_of_ascii(text, read):
    assert read_justification(AskAnswer(text=text, by="m")) == read


def test_empty_justifications_and_counts_raise():
    with pytest.raises(Unreadable, match="no justification"):
        read_justification(AskAnswer(text=" . ", by="m"))
    with pytest.raises(InputError, match="0 demonstrations"):
        chain_lessons(count=0)
