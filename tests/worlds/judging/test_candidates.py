import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.judging.candidates import ScoredAnswer, judged, play_answer, play_unequal
from handaxe.worlds.judging.links import links
from handaxe.worlds.judging.sources import link_source

WORLD, SOURCE = links(), link_source()
TASK = WORLD.tasks("train", 1, 0)[0]


def test_judged_takes_texts_and_scores_of_any_group():
    group = make_group(trajectories=[make_trajectory(texts=["", text]) for text in (" 14", "15")])
    found = judged(group, Scores(np.array([1.0, 0.25])))
    assert found.candidates == (ScoredAnswer("14", 1.0), ScoredAnswer("15", 0.25)) and found.task is group.task
    with pytest.raises(InputError, match="2 rollouts"):
        judged(group, Scores(np.zeros(3)))


def test_siblings_are_real_rollouts_and_depend_on_their_number_alone():
    one, again = (play_answer(WORLD, TASK, SOURCE.speaker, 3) for _ in range(2))
    assert one.final_text == again.final_text and one.ending.kind == "completed" and one.num_tokens > 0
    assert len({play_answer(WORLD, TASK, SOURCE.speaker, number).final_text for number in range(16)}) == 2


def test_play_unequal_keeps_the_first_of_each_score():
    texts = [play_answer(WORLD, TASK, SOURCE.speaker, number).final_text for number in range(16)]
    other = next(text for text in texts if text != texts[0])
    found = play_unequal(WORLD, TASK, SOURCE.speaker, count=2)
    assert [one.text for one in found.candidates] == [texts[0], other]
    assert {one.text: one.score for one in found.candidates}[TASK.answer] == 1
    with pytest.raises(InputError, match="2 different scores in 64 rollouts, not 3"):
        play_unequal(WORLD, TASK, SOURCE.speaker, count=3)
