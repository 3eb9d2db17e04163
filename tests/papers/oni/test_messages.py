import pytest

from handaxe.core.records import Group, check
from handaxe.judges.asked_steps import AskedSteps
from handaxe.judges.noisy import noisy
from handaxe.papers.oni.messages import PLACE, mentions, message_rollout, messages_of
from handaxe.testing.make_records import make_trajectory


def test_messages_are_the_results_of_each_turn():
    one = make_trajectory(texts=["", "", "done"], replies=[["a1 +key"], ["x", "y"], []])
    assert messages_of(one) == ["a1 +key", "x\ny", ""]


def test_mentions_equals_a_slow_loop():
    texts = ["a1 +key", "a1 key", "open f1", "walls", ""]
    judge = mentions(("+key", "open"))
    group = Group(PLACE, tuple(message_rollout(one) for one in texts))
    slow = []
    for text in texts:
        found = 0.0
        for word in ("+key", "open"):
            found = 1.0 if word in text else found
        slow.append(found)
    assert [own.tolist() for own in judge.score_steps(group)] == [[one] for one in slow]


@pytest.mark.parametrize("text", ["a1 +key", "", "\u00e9\n"])
def test_a_message_is_a_valid_rollout_and_the_only_text_of_its_question(text):
    one = message_rollout(text)
    assert messages_of(one) == [text] and one.id == message_rollout(text).id != message_rollout(text + "!").id
    assert len(one.sequences[0].ids) == max(1, len(text.encode()))
    if text:
        desk = type("Desk", (), {"answerer": type("Answerer", (), {"terse": True})})
        asked = AskedSteps(desk, "oni/helpful", 0.0, 1.0).question(one, 0)
        assert dict(asked.fields) == {"then": text}


def test_a_flip_of_the_judge_is_a_function_of_the_message():
    judge = noisy(judge=mentions(("+key",)), spread=0.0, flip=0.5, centre=0.5)
    texts = [f"a{n} +key" for n in range(40)]
    first, second = (judge.score_steps(Group(PLACE, tuple(map(message_rollout, texts)))) for _ in range(2))
    assert [own[0] for own in first] == [own[0] for own in second]
    assert 5 < sum(own[0] for own in first) < 35


def test_the_record_of_a_message_has_no_sampled_turn():
    with pytest.raises(Exception, match="breaks the record"):
        check(message_rollout("walls"))
