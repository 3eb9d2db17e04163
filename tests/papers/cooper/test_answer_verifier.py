"""Input of the reward model in fit, scores and updates, against conversations written by hand and a plain model."""

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from helpers.reward_models import make_engine

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.records import Advantages, Group, Message, Pair, RatedGroup, Scores, Task, ToolCall
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.judges.reward_model import reward_model
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.change_digit import change_digit
from handaxe.ops.seeds import derive_seed
from handaxe.papers.cooper.against_corrupted import against_corrupted
from handaxe.papers.cooper.answer_verifier import answer_verifier
from handaxe.rewards.exact_match import exact_match
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.judges import check_judge
from handaxe.testing.make_records import make_group
from handaxe.training.sft.scripted import trajectory_from_messages

LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"
CONTRACT = []
"""It needs a task with an answer; see below."""
TASK = Task("t", (Message("user", "6 * 7"),), "42")
OTHER = Task("u", (Message("user", "5 + 8"),), "13")
MAKE = partial(reward_model, fit_pairs=ordered(), fit_epochs=2, learning_rate=0.01, channel="correct", batch_size=2)


def group_of(task, *texts):
    """Rollouts with a call before the answer."""
    called = Message("assistant", "", (ToolCall("calculator", {"expression": "1+1"}, "c"),))
    made = []
    for i, text in enumerate(texts):
        messages = (*task.messages, called, Message("tool", "2", call_id="c"), Message("assistant", text))
        one = trajectory_from_messages(Compact(), messages, task=task, id=f"{task.id}{i}")
        made.append(replace(one, sample=i, seed=i))
    return make_group(trajectories=made, task=task)


def labelled(group):
    correct = exact_match()(group).outcome
    return group, Scores(correct, channels={"correct": correct})


def rated(group):
    nothing = tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group)
    return RatedGroup.of(group, labelled(group)[1], Advantages(nothing))


GROUPS = [group_of(TASK, "41", "42", "42"), group_of(OTHER, "13", "31")]


def verifier(make=None, **options):
    pairs = against_corrupted(rule=exact_match())
    pairs.format = Compact()
    return answer_verifier(make=make or partial(MAKE, engine=make_engine(double=True), **options), pairs=pairs)


def by_hand(task, text, *, sample=0, id="hand"):
    """The conversation that the reward model has to read."""
    message = Message("user", f"{task.messages[0].content}\n{task.answer}\n{text}")
    one = trajectory_from_messages(Compact(), (message, Message("assistant", "")), task=task, id=id)
    return replace(one, sample=sample)


def corrupted(group, sample):
    one = group[sample]
    return change_digit(one.final_text, seed=derive_seed("corrupt", one.id, 0))


def weights(judge):
    found = judge.state_dict()["engine"]
    return [np.asarray(one).tolist() for one in _leaves(found)]


def _leaves(state):
    if isinstance(state, dict):
        return [leaf for name in sorted(state, key=str) for leaf in _leaves(state[name])]
    if isinstance(state, list | tuple):
        return [leaf for one in state for leaf in _leaves(one)]
    return [state]


class Recorded:
    """Reward model that records the texts that it reads."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.read = []

    def score(self, group):
        self.read += [texts(one) for one in group]
        return np.zeros(len(group))

    def fit(self, labelled):
        for group, _ in labelled:
            self.score(group)
        return {}

    def learn(self, groups, *, step):
        del step
        for one in groups:
            self.score(one.group)
        self.read += [(texts(one.chosen), texts(one.rejected), one.strength) for one in self.pairs(groups)]
        return {}


def texts(one):
    """The bytes of all tokens."""
    return bytes([byte for own in one.sequences for byte in own.ids if byte < 256]).decode()


def test_scores_fit_and_updates_read_question_reference_and_answer():
    made = []
    judge = verifier(make=lambda pairs: made.append(Recorded(pairs)) or made[0])
    inputs = ["6 * 7\n42\n41", "6 * 7\n42\n42", "6 * 7\n42\n42"]
    assert judge.score(GROUPS[0]).tolist() == [0.0, 0.0, 0.0] and made[0].read == inputs
    made[0].read = []
    assert judge.fit([labelled(GROUPS[0])]) == {} and made[0].read == inputs
    made[0].read = []
    judge.learn([rated(GROUPS[0])], step=0)
    *scored, (chosen, rejected, strength) = made[0].read
    wrong = corrupted(GROUPS[0], 1)
    assert scored == inputs and strength == 1.0 and len(wrong) == 2 and wrong != "42"
    assert (chosen, rejected) == ("6 * 7\n42\n42", f"6 * 7\n42\n{wrong}")


def test_a_step_has_the_pairs_of_its_own_rollouts():
    made = []
    judge = verifier(make=lambda pairs: made.append(Recorded(pairs)) or made[0])
    judge.learn([rated(GROUPS[0])], step=0)
    made[0].read = []
    judge.learn([rated(group_of(TASK, "41")), rated(GROUPS[1])], step=1)
    assert made[0].read[-1] == ("5 + 8\n13\n13", f"5 + 8\n13\n{corrupted(GROUPS[1], 0)}", 1.0)
    assert sum(isinstance(one, tuple) for one in made[0].read) == 1


def test_scores_equal_a_loop_over_conversations_by_hand():
    judge, plain = verifier(), MAKE(engine=make_engine(double=True), pairs=ordered())
    for group in GROUPS:
        loop = [plain.score(Group(group.task, (by_hand(group.task, one.final_text),)))[0] for one in group]
        np.testing.assert_allclose(judge.score(group), loop, rtol=0, atol=1e-9)


def test_scores_change_with_the_reference_and_not_with_calls():
    judge = verifier()
    first = judge.score(GROUPS[0])
    other = replace(TASK, answer="43")
    moved = replace(GROUPS[0], task=other, trajectories=tuple(replace(one, task=other) for one in GROUPS[0]))
    assert (np.abs(judge.score(moved) - first) > 1e-6).all()
    direct = [
        replace(trajectory_from_messages(Compact(), (*TASK.messages, Message("assistant", text)), task=TASK), sample=i)
        for i, text in enumerate(("41", "42", "42"))
    ]
    assert judge.score(make_group(trajectories=direct, task=TASK)).tolist() == first.tolist()


def test_the_fit_equals_a_fit_on_conversations_by_hand():
    judge, plain = verifier(), MAKE(engine=make_engine(double=True), pairs=ordered())
    found = judge.fit([labelled(one) for one in GROUPS])
    shown = [
        (
            make_group(
                trajectories=[by_hand(group.task, one.final_text, sample=one.sample, id=one.id) for one in group]
            ),
            labelled(group)[1],
        )
        for group in GROUPS
    ]
    assert found == plain.fit(shown) and found["labels"] == 3
    assert weights(judge) == weights(plain)


def test_an_update_equals_a_step_on_pairs_by_hand():
    chosen = [(GROUPS[0], 1), (GROUPS[1], 0)]
    pairs = [
        Pair(by_hand(group.task, group[i].final_text), by_hand(group.task, corrupted(group, i)), 1.0)
        for group, i in chosen
    ]
    judge, plain = verifier(), MAKE(engine=make_engine(double=True), pairs=lambda groups: pairs)
    before = weights(judge)
    shown = [
        (
            make_group(trajectories=[by_hand(group.task, one.final_text, id=one.id) for one in group]),
            labelled(group)[1],
        )
        for group in GROUPS
    ]
    found = judge.learn([rated(one) for one in GROUPS], step=0)
    assert found == plain.learn(with_zero_credit(shown), step=0) and found["labels"] == 2
    assert weights(judge) == weights(plain) != before


def test_a_frozen_verifier_measures_alone():
    judge = verifier(learns=False)
    before = weights(judge)
    found = judge.learn([rated(one) for one in GROUPS], step=0)
    assert "agreement" in found and "labels" not in found and weights(judge) == before


def test_a_copy_continues_from_the_state_bit_for_bit():
    first, second = verifier(), verifier()
    groups = [rated(one) for one in GROUPS]
    first.learn(groups, step=0)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    first.learn(groups, step=1)
    second.learn(groups, step=1)
    assert weights(first) == weights(second)
    assert first.score(GROUPS[0]).tolist() == second.score(GROUPS[0]).tolist()


def test_it_begins_as_a_copy_of_the_policy():
    judge = verifier(make=partial(MAKE, head=Head(init="zeros")))
    with pytest.raises(InputError, match="no model yet"):
        judge.score(GROUPS[0])
    judge.begin(make_engine())
    assert judge.score(GROUPS[0]).tolist() == [0.0, 0.0, 0.0]


def test_it_keeps_the_contract_of_judges():
    check_judge(verifier(), group_of(TASK, "41", "42", "7"))


def test_a_missing_format_or_reference_is_refused():
    judge = answer_verifier(make=partial(MAKE, engine=make_engine()), pairs=against_corrupted(rule=exact_match()))
    with pytest.raises(InputError, match="needs the policy's chat format"):
        judge.score(GROUPS[0])
    with pytest.raises(InputError, match="task 'v' has no reference answer"):
        verifier().score(group_of(Task("v", TASK.messages), "42"))
