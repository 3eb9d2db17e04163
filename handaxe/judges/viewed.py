"""Shows a judge a rendering of each rollout, such as the request and the last image, in place of the rollout.

Kept: reward models with a conversation of their own, such as one about an image.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.protocols import ChatFormat, Engine, Fittable, FromPolicy, Judge, Labelled, Learner, Stateful
from handaxe.core.records import Group, Message, RatedGroup, Scores, Task, Trajectory
from handaxe.training.sft.scripted import trajectory_from_messages

__all__ = [
    "PreferredMessage",
    "View",
    "Viewed",
    "label_messages",
    "last_image",
    "request_and_image",
    "request_message",
    "viewed",
]

MODEL_LOCK = threading.Lock()
"""Serializes calls of models by concurrent rollouts."""
View = Callable[[Trajectory], Message]
"""Trajectory -> message to the judge, of role user."""
SEEN = Message("assistant", "")
"""Empty turn behind the message; a head reads the state at the end, after all tokens of the message."""


class PreferredMessage(NamedTuple):
    """Two messages, the better one first. strength: > 0, difference of their true scores."""

    chosen: Message
    rejected: Message
    strength: float = 1.0


def last_image(trajectory: Trajectory) -> Image | None:
    """Return the last image of the conversation; None without one."""
    shown = [image for message in trajectory.messages for image in message.images]
    return shown[-1] if shown else None


def request_message(task: Task, image: Image | None) -> Message:
    """Return the words of a task and an image, if any.

    Example:
        "draw red disc at 2 4" and a drawing  ->  a message of two lines, the second one the image
    """
    words = task.messages[-1].content.replace(PLACEHOLDER, "")
    return Message.of("user", f"{words}\n", *([] if image is None else [image]))


def request_and_image(trajectory: Trajectory) -> Message:
    """Return the words of the task, and the last image of the rollout."""
    return request_message(trajectory.task, last_image(trajectory))


def label_messages(pairs: Sequence[PreferredMessage], format: ChatFormat) -> list[Labelled]:
    """Make labels of messages for the `fit` of a judge that is inside `viewed`: a group of two each.

    Example:
        one pair of strength 0.3  ->  [(a group of two, scores 0.3 and 0)]
    """
    found = list[Labelled]()
    for number, pair in enumerate(pairs):
        first, second = (_rendered(format, message, f"{number}/{k}") for k, message in enumerate(pair[:2]))
        group = Group(first.task, (first, replace(second, task=first.task, sample=1)))
        found.append((group, Scores(np.array([pair.strength, 0.0]))))
    return found


def viewed(*, judge: Judge, format: ChatFormat, view: View = request_and_image) -> Viewed:
    """Make a judge that scores a message about each rollout.

        score_i = judge.score(message_i, empty turn)         message_i = view(rollout i)

    A `reward_model` with a vision tower then scores the last image against the request, without texts and tool calls of
    the policy.

    Args:
        judge: such as `reward_model`, whose head reads the end of the empty turn.
        format: chat format of the judge's model.
        view: message of the user, with images or without; request and last image by default.

    Returns:
        A judge that is a PairJudge (sigmoid(score_a - score_b)), Fittable and a Learner, as far as `judge` is; the
        state is that of `judge`.

    Raises:
        InputError: `fit` of a judge that does not learn.

    Example:
        a drawing that fits the request scores 1, another 0.5: probability sigmoid(0.5) = 0.62246

    Idea: a reward model of images sees the request and the image, as in ImageReward (arXiv:2304.05977).
    """
    return Viewed(judge, view, format)


class Viewed:
    """See `viewed`."""

    def __init__(self, judge: Judge, view: View, format: ChatFormat):
        self.judge = judge
        self._view = view
        self.format = format

    def begin(self, engine: Engine) -> None:
        """Begin the judge, if it begins from the policy."""
        if isinstance(self.judge, FromPolicy):
            self.judge.begin(engine)

    def score(self, group: Group) -> np.ndarray:
        """[G] scores of the messages about the siblings."""
        if not len(group):
            return np.zeros(0)
        with MODEL_LOCK:
            return np.asarray(self.judge.score(self._shown(group)), np.float64)

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """[P]: sigmoid(score of the first - score of the second)."""
        sides = [one for pair in pairs for one in pair]
        score_2P = self.score(Group(sides[0].task, tuple(sides))) if sides else np.zeros(0)
        return 1 / (1 + np.exp(score_2P[1::2] - score_2P[0::2]))

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Learn from labels of rollouts; metrics of the judge."""
        return self._fit([(self._shown(group), replace(scores, turns=None)) for group, scores in labelled])

    def fit_messages(self, pairs: Sequence[PreferredMessage]) -> dict[str, float]:
        """Learn from pairs of messages; metrics of the judge."""
        return self._fit(label_messages(pairs, self.format))

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from the groups of a step, by their outcomes; {} if the judge does not learn."""
        del step
        if not isinstance(self.judge, Learner) or not isinstance(self.judge, Fittable):
            return {}
        return self.fit([(one.group, one.scores) for one in groups])

    def state_dict(self) -> dict[str, Any]:
        """State of the judge."""
        return self.judge.state_dict() if isinstance(self.judge, Stateful) else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of the judge."""
        if isinstance(self.judge, Stateful):
            self.judge.load_state_dict(state)

    def _fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        if not isinstance(self.judge, Fittable):
            raise InputError(f"{type(self.judge).__name__} has no fit, so what it sees cannot be labelled")
        with MODEL_LOCK:
            return self.judge.fit(labelled)

    def _shown(self, group: Group) -> Group:
        """The group with each rollout replaced by the message about it and an empty turn."""
        made = [
            replace(_rendered(self.format, self._view(one), one.id), task=group.task, sample=one.sample, seed=one.seed)
            for one in group
        ]
        return replace(group, trajectories=tuple(made))


def _rendered(format: ChatFormat, message: Message, id: str) -> Trajectory:
    return trajectory_from_messages(format, [message, SEEN], id=id)
