"""The verifier orders drawings of requests that it has not seen."""

import numpy as np
import pytest

from handaxe.core.records import Group, Message, ToolCall
from handaxe.judges.drawing_pairs import drawing_pairs
from handaxe.judges.viewed import label_messages
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.sport.drawing_verifier import drawing_verifier, repeats_image
from handaxe.worlds.canvas.canvas import canvas
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))
CONTRACT = [{"world": canvas(), "labels": 8}]
LAB = "scores drawings of the world canvas alone"


def drawing(task, *programs):
    """A rollout that paints the programs, one a turn, and ends if there is one more turn."""
    lines = [Message("assistant", "", (ToolCall("paint", {"program": program}),)) for program in programs]
    lines.append(Message("assistant", "done"))
    env = canvas(changes=0.0).env(())
    return [
        demonstrate(env, task, lambda task, facts: lines[facts["turn"]], format=FORMAT, max_turns=turns)
        for turns in range(1, len(lines) + 1)
    ]


def test_a_turn_that_shows_the_same_drawing_again_repeats_an_image():
    tasks = canvas(changes=0.0).tasks("train", 60, 0)
    task = next(task for task in tasks if not any(task.metadata["slips"][:2]))
    program = task.metadata["program"]
    once, twice, ended = drawing(task, program, program)
    assert [repeats_image(one) for one in (once, twice, ended)] == [False, True, False]
    _, other, _ = drawing(task, program, "blue ring 6 6" if program != "blue ring 6 6" else "red 0 0")
    assert not repeats_image(other)


@pytest.mark.slow
def test_the_verifier_orders_most_pairs_of_held_out_requests():
    world = canvas(changes=0.0, colours=2, errs="colour")
    judge = drawing_verifier(world=world, labels=960)
    slipped = [
        task for task in world.tasks("test", 60, 0) if task.metadata["slips"][0] and not task.metadata["slips"][1]
    ]
    better = []
    for task in slipped:
        one = demonstrate(world.env(()), task, world.expert, format=FORMAT)
        first = demonstrate(world.env(()), task, world.expert, format=FORMAT, max_turns=1)
        low, high = judge.score(Group(task, (first, one)))
        better.append(high > low)
    assert np.mean(better) > 0.8
    judged = [
        judge.fitted().judge.score(group)
        for group, _ in label_messages(drawing_pairs(world.tasks("test", 60, 1)), FORMAT)
    ]
    assert np.mean([first > second for first, second in judged]) > 0.7
