import random

import pytest

from handaxe.worlds.judging.candidates import play_unequal
from handaxe.worlds.judging.sources import SOURCES, link_source, word_source


@pytest.mark.parametrize("kind", SOURCES)
def test_the_standard_ends_as_the_correct_answer_alone(kind):
    source = SOURCES[kind]()
    for task in source.world.tasks("train", 40, 0):
        standard = source.standard(task)
        for one in play_unequal(source.world, task, source.speaker, count=2).candidates:
            assert (one.text[-1] == standard[-1]) == (one.score == 1)


def test_links_by_hand():
    task = link_source().world.tasks("train", 1, 0)[0]
    table, start = task.messages[0].content.split()
    middle = table[int(start) - 1]
    assert link_source().standard(task) == middle + table[int(middle) - 1]
    said = {link_source().speaker(task, random.Random(number)) for number in range(20)}
    assert len(said) == 2 and task.answer in said and {text[0] for text in said} == {start}


def test_words_by_hand():
    task = word_source().world.tasks("train", 1, 0)[0]
    first, last = task.metadata["first"], task.metadata["last"]
    assert word_source().standard(task) == last
    said = {word_source().speaker(task, random.Random(number)) for number in range(20)}
    assert said == {first + last, last + first}
