import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import StageContext
from handaxe.core.records import Advantages, Message, RatedGroup, Scores, Task
from handaxe.core.validation import check_group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.cooper.against_corrupted import against_corrupted
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

CONTRACT = []
TASK = Task("t", (Message("user", "6*7"),), "42")


def rated(*texts, channels=None):
    made = []
    for i, text in enumerate(texts):
        one = trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", text)), task=TASK, id=str(i))
        made.append(one.__class__(**{**one.__dict__, "sample": i}))
    group = make_group(trajectories=made, task=TASK)
    correct = exact_match()(group).outcome
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    scores = Scores(np.zeros(len(made)), channels={"correct": correct} if channels is None else channels)
    return RatedGroup.of(group, scores, Advantages(nothing))


def with_format(rule):
    pairs = against_corrupted(rule=rule)
    pairs.format = Compact()
    return pairs


def test_the_first_correct_rollout_is_paired_with_a_wrong_twin():
    (pair,) = with_format(exact_match())([rated("41", "42", "42")])
    assert (pair.chosen.sample, pair.chosen.final_text, pair.strength) == (1, "42", 1.0)
    changed = pair.rejected.final_text
    assert changed != "42" and len(changed) == 2 and sum(a != b for a, b in zip(changed, "42")) == 1
    check_group(make_group(trajectories=[pair.rejected], task=TASK))
    prompt = pair.chosen.turns[-1].start
    assert pair.rejected.sequences[0].ids[:prompt].tolist() == pair.chosen.sequences[0].ids[:prompt].tolist()


def test_no_correct_rollout_no_digit_or_a_rule_that_likes_all_gives_no_pair():
    assert with_format(exact_match())([rated("41", "40")]) == []
    likes_all = outcome(lambda one: 1.0)
    assert with_format(likes_all)([rated("42", "41")]) == []
    words = with_format(outcome(lambda one: float(one.final_text == "yes")))
    assert words([rated("yes", "no", channels={"correct": np.array([1.0, 0.0])})]) == []


def test_two_calls_are_equal_and_the_format_is_needed():
    one = rated("42", "41")
    first, second = (with_format(exact_match())([one])[0].rejected.final_text for _ in range(2))
    assert first == second
    with pytest.raises(InputError, match="chat format"):
        against_corrupted(rule=exact_match())([one])
    with pytest.raises(InputError, match="no channel 'correct'; there are none"):
        with_format(exact_match())([rated("42", channels={})])


def test_a_bound_source_sets_the_format_before_it_plays():
    pairs = against_corrupted(rule=exact_match())
    format, seen = Compact(), []
    site = StageContext(None, format, *[None] * 5)
    assert pairs.with_format(lambda site: seen.append(pairs.format) or [site])(site) == [site]
    assert seen == [format] == [pairs.format]
