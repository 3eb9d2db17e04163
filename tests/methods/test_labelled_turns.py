"""Labels of turns teach the answerer of a judge, also after a resume; the policy stays."""

import numpy as np
import pytest

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt
from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Group, Message
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.asked_steps import asked_steps
from handaxe.judges.marked_screenshot import marked_screenshot
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.labelled_turns import teach_turns
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.context import make_site

RIGHT = make_trajectory(texts=["good"], id="right")
WRONG = make_trajectory(texts=["bad"], id="wrong")


EPOCHS = 30


def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=256), seed=1))


def taught(policy, folder, *, resume=False):
    answerer = TaughtAnswerer(name="trained", epochs=EPOCHS, learning_rate=1e-2)
    judge = asked_steps(desk=answerer.desk)
    judge.question = lambda one, turn: asked(3 * one.turns[turn].parsed.text)
    labels = lambda trajectories: [(RIGHT, 0, True), (WRONG, 0, False)] * 2  # noqa: E731
    stage = teach_turns(judge=judge, answerer=answerer, source=lambda site: [], labels=labels)
    site = make_site(engine=policy, format=Compact(), seed=0, out=folder, resume=resume)
    return judge, answerer, stage(site)


def test_labels_teach_the_judge_and_leave_the_policy(tmp_path):
    policy = engine()
    before = policy.start_digest()
    judge, answerer, metrics = taught(policy, tmp_path / "stage")
    group = Group(RIGHT.task, (RIGHT, WRONG))
    good, bad = (own[0] for own in judge.score_steps(group))
    assert good > 0.5 and bad < -0.5
    assert len(metrics) == EPOCHS and metrics[0]["questions"] == 4
    assert policy.start_digest() == before and policy.version == 0
    assert answerer.learn([], step=0) == {} and answerer.desk.take_calls() == []
    again, _, _ = taught(policy, tmp_path / "stage", resume=True)
    assert np.allclose(np.concatenate(again.score_steps(group)), [good, bad], atol=1e-6)


def test_the_frequent_answer_has_three_labels_for_each_of_the_rare_one():
    """Two right turns and nine wrong ones: 2 + 6 lessons; labels see all trajectories of the source."""
    made = [make_trajectory(texts=[f"{k}"], id=str(k)) for k in range(11)]
    seen, lessons = [], []

    class Counts:
        desk = None
        made = property(lambda self: self)

        def bind(self, engine, format):
            pass

        def teach(self, site, asks, labels):
            lessons.extend(labels)
            return [{}]

    def labels(trajectories):
        seen.extend(trajectories)
        return [(one, 0, k < 2) for k, one in enumerate(seen)]

    judge = asked_steps(desk=TaughtAnswerer(Compact(), name="x").desk, prompt="step")
    judge.question = lambda one, turn: asked(one.id)
    stage = teach_turns(
        judge=judge, answerer=Counts(), source=lambda site: [as_rated(made[:5]), as_rated(made[5:])], labels=labels
    )
    assert stage(make_site(engine=engine(), format=Compact())) == [{"questions": 11.0}]
    assert len(seen) == 11 and sorted(lessons) == ["no"] * 6 + ["yes"] * 2


def asked(word):
    return Ask(find_prompt("step", terse=True), {"task": word, "before": "", "did": "", "then": ""})


def test_an_untaught_judge_is_an_error():
    group = Group(RIGHT.task, (RIGHT,))
    unbound = TaughtAnswerer(name="trained")
    with pytest.raises(InputError, match="no model yet"):
        asked_steps(desk=unbound.desk).score_steps(group)
    unbound.begin(engine())
    with pytest.raises(InputError, match="no chat format"):
        asked_steps(desk=unbound.desk).score_steps(group)


def test_a_judge_with_vision_learns_from_questions_with_images(monkeypatch):
    policy = load("tiny_vision")
    image = Image.of(np.zeros((8, 16), np.uint8))
    task = make_task()
    shown = make_trajectory(texts=["a"], task=type(task)(task.id, (Message.of("user", "red?", image),)))
    answerer, lessons = TaughtAnswerer(name="trained", epochs=1), []
    judge = marked_screenshot(desk=answerer.desk)
    monkeypatch.setattr(
        "handaxe.judges.taught_answerer.scripted",
        lambda trajectories: lessons.extend(trajectories) or (lambda site: []),
    )
    monkeypatch.setattr("handaxe.judges.taught_answerer.teach", lambda **given: lambda site: [{}])
    stage = teach_turns(
        judge=judge, answerer=answerer, source=lambda site: [as_rated([shown])], labels=lambda _: [(shown, 0, True)]
    )
    stage(make_site(engine=LocalEngine(policy.model), format=policy.format))
    assert lessons[0].images == (image,) and lessons[0].final_text == "yes"
