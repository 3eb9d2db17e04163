import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Group, Message
from handaxe.papers.reward_dance.reference_images import best_images
from handaxe.testing.make_records import make_trajectory

GREYS = [40, 200, 120]


def grey(value):
    return Image.of(np.full((8, 8, 3), value, np.uint8))


def brighter(questions):
    won = [candidate.pixels.mean() > reference.pixels.mean() for _, candidate, reference in questions]
    return np.where(won, 0.9, 0.2)


def group(*values):
    made = []
    for number, value in enumerate(values):
        one = make_trajectory(id=str(number))
        shown = [] if value is None else [Message.of("user", grey(value))]
        made.append(one.__class__(**{**one.__dict__, "messages": (*one.messages, *shown)}))
    return Group(made[0].task, tuple(made))


def test_the_images_that_win_most_often_come_first():
    found = best_images(group(*GREYS, None), yes=brighter, top=2)
    wins = {a: sum(0.9 if a > b else 0.2 for b in GREYS if b != a) for a in GREYS}
    assert found == [grey(value) for value in sorted(GREYS, key=lambda value: -wins[value])[:2]]


def test_few_images_and_a_wrong_number():
    assert best_images(group(None, None), yes=brighter) == []
    assert best_images(group(40, None), yes=brighter) == [grey(40)]
    with pytest.raises(InputError, match="1 reference"):
        best_images(group(40), yes=brighter, top=0)
