import random

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.oni.label_desk import LabelDesk
from handaxe.papers.oni.message_reward import message_reward
from handaxe.papers.oni.messages import mentions, messages_of
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate

RULE = mentions(("+key",))
WORDS = ("drop", "forward", "left", "pickup", "right", "toggle")


class Broken:
    """Judge without a verdict on "bad", which counts its questions."""

    def __init__(self):
        self.asked = []

    def score_steps(self, group):
        for one in group:
            (text,) = messages_of(one)
            self.asked.append(text)
            if text == "bad":
                raise VerifierError("no verdict", trajectory=one.id)
        return RULE.score_steps(group)


def rated(*rollouts):
    made = [
        make_trajectory(texts=[""] * len(own), replies=[[text] for text in own], id=f"one-{k}", sample=k)
        for k, own in enumerate(rollouts)
    ]
    return [make_rated(group=make_group(trajectories=made))]


def test_new_messages_wait_and_are_labelled_in_order():
    reward = message_reward("retrieval")
    desk = LabelDesk(judge=RULE, rule=RULE, reward=reward, batch=1)
    first = desk.learn(rated(["+key", "walls", "+key"]), step=0)
    assert (first["labelled"], first["queue"], first["unlabelled"]) == (1, 1, 1)
    assert first["rewarded"] == first["repeats"] == 0, "the rewards of the step were without a label"
    second = desk.learn(rated(["+key", "+key", "walls", "new"], ["+key"]), step=1)
    assert (second["labelled"], second["queue"], second["unlabelled"]) == (2, 1, 2 / 5)
    assert second["rewarded"] == 3 / 5 and second["repeats"] == 1 / 3 and second["helpful"] == 0.5
    assert second["agreement"] == 1 and reward.scores(["+key", "walls", "new"]).tolist() == [1, 0, 0]


def test_a_message_without_a_verdict_stays_without_a_label_and_is_asked_once():
    judge = Broken()
    desk = LabelDesk(judge=judge, rule=RULE, reward=message_reward("retrieval"))
    assert desk.learn(rated(["bad", "+key"]), step=0)["labelled"] == 1
    desk.learn(rated(["bad", "+key"]), step=1)
    assert judge.asked.count("bad") == 1 and "agreement" not in desk.learn(rated(["bad"]), step=2)


def test_a_judge_that_is_away_ends_the_step_with_its_own_error():
    class Away:
        def score_steps(self, group):
            raise VerifierError("away")

    with pytest.raises(VerifierError, match="away"):
        LabelDesk(judge=Away(), rule=RULE, reward=message_reward("retrieval")).learn(rated(["a"]), step=0)


def test_the_desk_round_trips():
    desk = LabelDesk(judge=RULE, rule=RULE, reward=message_reward("ranking"), batch=2)
    desk.learn(rated(["+key", "walls", "a1", "f2"]), step=0)
    copy = LabelDesk(judge=RULE, rule=RULE, reward=message_reward("ranking"), batch=2)
    copy.load_state_dict(desk.state_dict())
    later = rated(["+key", "new", "a1"])
    assert copy.learn(later, step=1) == desk.learn(later, step=1)
    assert np.array_equal(copy._reward.scores(["+key", "a1"]), desk._reward.scores(["+key", "a1"]))


def test_a_batch_of_zero_is_refused():
    with pytest.raises(InputError, match="give 1 or more"):
        LabelDesk(judge=RULE, rule=RULE, reward=message_reward("retrieval"), batch=0)


def test_a_batch_of_100_holds_the_messages_of_a_step_of_random_actions():
    """The setting of the page: 8 grids of size 6, 6 rollouts each, 12 turns."""
    pytest.importorskip("minigrid")
    from handaxe.worlds.minigrid_text.world import minigrid_text

    world = minigrid_text(size=6)
    rng = random.Random(0)

    def act(task, facts):
        return Message("assistant", "", (ToolCall("act", {"word": rng.choice(WORDS)}),))

    tasks = [task for task in world.tasks("train", 8, 0) for _ in range(6)]
    rollouts = [demonstrate(world.env(world.tools), task, act, format=Compact(), max_turns=12) for task in tasks]
    messages = [text for one in rollouts for text in messages_of(one)]
    assert (len(messages), len(set(messages))) == (576, 67)
    desk = LabelDesk(judge=RULE, rule=RULE, reward=message_reward("retrieval"), batch=100)
    assert desk.learn(rated(*[messages_of(one) for one in rollouts]), step=0)["queue"] == 0
