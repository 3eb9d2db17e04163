import numpy as np
import pytest

from handaxe.core.records import Group, Message, Scores, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.agent0_vl import verifier_best_of as module
from handaxe.papers.agent0_vl.checked_plates import checked_plates
from handaxe.papers.agent0_vl.two_roles import Step, Verdict, solver_steps, two_roles
from handaxe.papers.agent0_vl.verifier_best_of import checked_rollouts, verifier_best_of
from handaxe.testing.make_records import make_rated
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("sklearn")
pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))
WORLD = checked_plates()
TASKS = WORLD.tasks("test", 2, 0)


def zoom(box):
    return Message("assistant", "", (ToolCall("zoom", {"box": box}),))


def rollout(task, box, answer):
    """A zoom and an answer, each approved by the solver itself."""
    said = [zoom(box), f"{box} .9", answer, zoom(box), f"{answer} .9"]
    turns = [Message("assistant", one) if isinstance(one, str) else one for one in said]
    return demonstrate(
        WORLD.env(()), task, lambda task, facts: turns[facts["turn"]], format=FORMAT, rollout=two_roles(max_turns=12)
    )


def rated(task, *answers):
    gold = " ".join(map(str, task.metadata["gold"]))
    group = Group(task, tuple(rollout(task, gold, answer) for answer in answers))
    return make_rated(group=group, scores=WORLD.correct(group))


@pytest.fixture
def verdicts(monkeypatch):
    """Replies of a verifier by task id of the check, in place of rollouts of an engine; records the tasks."""
    asked, said = [], {}

    def play(engine, format, world, *, split, tasks, siblings, seed):
        assert (split, siblings) == ("test", 1)
        found = world.tasks(split, tasks, seed)
        asked.extend(found)
        for task in found:
            text = said.get(task.id)
            if text is not None:
                one = demonstrate(
                    world.env(()), task, lambda task, facts, text=text: Message("assistant", text), format=FORMAT
                )
                yield make_rated(group=Group(task, (one,)), scores=Scores(np.zeros(1)))

    monkeypatch.setattr(module, "play_groups", lambda *args, **options: list(play(*args, **options)))
    return asked, said


def test_checked_rollouts_matches_its_example(verdicts):
    asked, said = verdicts
    played = [rated(TASKS[0], "11", "12")]
    step = solver_steps(played[0].group[0])[0]
    said[f"{TASKS[0].id}-check-0-0"] = "4 4 6 6 .5"
    said[f"{TASKS[0].id}-check-1-1"] = "12 .8"
    (first, second) = checked_rollouts(None, FORMAT, played, seed=0)[TASKS[0].id]
    assert first[0] == step._replace(verdicts=(Verdict("4 4 6 6", -1.0, 0.5),)) and first[1].verdicts == ()
    assert second[0].verdicts == () and second[1].verdicts == (Verdict("12", 1.0, 0.8),)
    assert [one.id[len(TASKS[0].id) :] for one in asked] == ["-check-0-0", "-check-0-1", "-check-1-0", "-check-1-1"]


def test_a_check_is_the_sequence_of_the_verifier_in_training(verdicts):
    asked, _ = verdicts
    played = [rated(TASKS[0], "11")]
    checked_rollouts(None, FORMAT, played, seed=0)
    sequences = [FORMAT.decode(one.ids.tolist()) for one in played[0].group[0].sequences]
    for task, place in zip(asked, (1, 3), strict=True):
        one = demonstrate(WORLD.env(()), task, lambda task, facts: Message("assistant", "17 .9"), format=FORMAT)
        opening = FORMAT.decode(one.sequences[0].ids.tolist()).partition("<ASSISTANT>")[0]
        assert sequences[place].startswith(opening) and "check " in opening


def test_the_choice_follows_the_verdicts_by_hand():
    played = [rated(TASKS[0], TASKS[0].answer, "xx", "xx")]
    assert played[0].scores.outcome.tolist() == [1.0, 0.0, 0.0]
    good, bad = (Step(0, "1", False, True, (Verdict("1", score, 0.9),)) for score in (1.0, -1.0))
    for steps, truth in (([good, bad, bad], 1.0), ([bad, good, bad], 0.0), ([good, good, bad], 0.5)):
        assert module._best(played, {TASKS[0].id: [[one] for one in steps]}).tolist() == [truth]
    found = module._without_verdicts(played)[TASKS[0].id]
    assert [[step.tool for step in one] for one in found] == [[True, False]] * 3
    assert not any(step.verdicts for one in found for step in one)
    assert module._majority(played[0]) == 0.0
    assert module._majority(rated(TASKS[0], TASKS[0].answer, "xx")) == 0.5


@pytest.mark.slow
def test_the_study_compares_both_verifiers():
    figures = verifier_best_of(steps=1, tasks=3, samples=2)(5)
    assert 0 <= figures["single"] <= figures["best/oracle"] <= 1
    assert figures["gain/single"] == pytest.approx(figures["best/trained"] - figures["single"])
    assert figures["gain/calls"] == pytest.approx(figures["best/trained"] - figures["best/calls"])
    assert {"gain/start/low", "gain/majority/high", "agrees", "best/start"} <= set(figures)
