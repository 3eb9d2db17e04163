"""Records with images, for tests."""

from dataclasses import replace

import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import Advantages, Group, Message, Scores, Task, ToolCall, ToolReply
from handaxe.testing.make_records import make_trajectory
from helpers.group_records import recorded_group

LAYOUT = "UUUUt pp tTTTt p"
"""Places 1 to 3 are tokens of the image of the question, 8 to 10 of the image of the reply."""


def noise(seed=0, width=40, height=30):
    """An image of random pixels."""
    return Image.of(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


def shown_trajectory(question, answer, *, hidden=None, id="seen/0", name="zoom", box=(10, 5, 30, 25)):
    """Trajectory of two turns: an image in the question, another in the reply to a call.

    Args:
        question, answer: the images.
        hidden: a third image, in metadata, facts, notes, the report of the environment and an auxiliary turn.
        id: of the trajectory.
        name: of the tool.
        box: argument of the call.
    """
    call = ToolCall(name, {"box": list(box), "image": 1}, "c0")
    content, images = "here \ufffc", (answer,)
    reply = ToolReply("c0", name, content, images=images)
    one = make_trajectory(layouts=[LAYOUT], texts=["", "seven"], calls=[[call], []], replies=[[reply], []])
    asked = Message.of("user", "What stands in ", question, "?")
    messages = (
        asked,
        Message("assistant", "", (call,)),
        Message("tool", content, (), "c0", name, images),
        *one.messages[3:],
    )
    sequence = one.sequences[0]
    ids = sequence.ids.astype(np.int64)
    ids[1:4] = question.ids(3)
    ids[8:11] = answer.ids(3)
    free = {} if hidden is None else {"kept": [hidden, (hidden,)]}
    task = Task("seen", (asked,), "seven", metadata=free)
    turns = (replace(one.turns[0], facts=free), *one.turns[1:])
    made = replace(
        one,
        id=id,
        task=task,
        messages=messages,
        sequences=(replace(sequence, ids=ids),),
        turns=turns,
        env=free,
        notes=free,
    )
    return made if hidden is None else replace(made, aux_turns=(replace(made, id=f"{id}/judge", by="judge"),))


def shown_group(*trajectories, step=0):
    """Recorded group of trajectories, all trained."""
    tokens = tuple(tuple(np.where(s.mask, 0.5, 0.0) for s in one.sequences) for one in trajectories)
    scores = Scores(np.arange(len(trajectories), dtype=float))
    group = Group(trajectories[0].task, trajectories, step)
    return recorded_group(group, scores, Advantages(tokens))
