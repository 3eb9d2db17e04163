"""Constants of the method cleaner, read by the tests of every method (tests/papers)."""

from helpers.methods import made

from handaxe.testing.make_records import make_group, make_task, make_trajectory

TRAINS_FORCED = True


def test_repaired_rollouts_are_counted_and_earn_the_answer_alone():
    task = make_task(answer="4")
    pair = [make_trajectory(texts=["4"], task=task), make_trajectory(texts=["4"], task=task)]
    vars(pair[1]).update(notes={"repaired": [{"turn": 0}]})
    scores = made("cleaner").reward(make_group(trajectories=pair, task=task))
    assert list(scores.channels["repaired"]) == [0, 1] and list(scores.outcome) == [1, 1]
