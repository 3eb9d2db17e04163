"""Labels new messages while training goes on, and teaches the message reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group, RatedGroup
from handaxe.papers.oni.message_reward import MessageReward
from handaxe.papers.oni.messages import PLACE, message_rollout, messages_of

__all__ = ["LabelDesk"]


class LabelDesk:
    """Learner that queues the messages of a step, has the oldest ones labelled, and teaches a message reward.

        queue <- messages that were never queued, in order of appearance
        label(m) = 1[judge(m) > 1/2] for the first `batch` messages of the queue
        reward.learn(all labels)

    Rewards of a step are computed before its messages arrive here: a new message earns the reward of an unlabelled one
    until the next step, or longer if the queue is longer than a batch.

    Args:
        judge: step judge with scores in [0, 1], of a turn with the message as result. A message without a verdict stays
            without a label.
        rule: labels to compare with, as `judge`.
        reward: learns from the labels.
        batch: most labels of a step, 1 or more; 100 in the paper.

    Returns of `learn`:
        labelled and queue, numbers of messages so far. helpful, share of the labels that are 1. agreement, share of the
        labels of the step that equal the rule's. unlabelled, share of the messages of the step that had no label when
        they were rewarded. rewarded, share with a reward above 0. repeats, share of the rewarded messages that were
        seen before in the same rollout. reward/NAME, metrics of the reward.

    Raises:
        InputError: batch below 1.

    Example:
        batch 1, messages "+key", "walls", "+key": labelled 1, queue 1, unlabelled 1; in the next step "walls" is
        labelled, and "+key" earns its label

    Paper: arXiv:2410.23022 (ONI), the asynchronous server of labels.
    Differs: labels arrive between two steps of training; the paper's server runs beside actors and learner.
    """

    def __init__(self, *, judge: StepJudge, rule: StepJudge, reward: MessageReward, batch: int = 100):
        if batch < 1:
            raise InputError(f"the desk labels {batch} messages a step; give 1 or more")
        self._judge = judge
        self._rule = rule
        self._reward = reward
        self._batch = batch
        self._queue: list[str] = []
        self._labels: dict[str, float] = {}
        self._failed: set[str] = set()

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        rollouts = [[text for text in messages_of(one) if text] for rated in groups for one in rated.group]
        messages = [text for own in rollouts for text in own]
        found = self._usage(rollouts)
        known = {*self._labels, *self._queue, *self._failed}
        self._queue += [text for text in dict.fromkeys(messages) if text not in known]
        chosen, self._queue = self._queue[: self._batch], self._queue[self._batch :]
        found |= self._label(chosen)
        taught = self._reward.learn(self._labels, messages, step=step)
        found |= {"labelled": float(len(self._labels)), "queue": float(len(self._queue))}
        found |= {"helpful": float(np.mean(list(self._labels.values()) or [0.0]))}
        return found | {f"reward/{name}": value for name, value in taught.items()}

    def state_dict(self) -> dict[str, Any]:
        state = {"labels": dict(self._labels), "queue": list(self._queue), "failed": sorted(self._failed)}
        return {**state, "reward": self._reward.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._labels, self._queue = dict(state["labels"]), list(state["queue"])
        self._failed = set(state["failed"])
        self._reward.load_state_dict(state["reward"])

    def _label(self, messages: list[str]) -> dict[str, float]:
        """Label messages; returns agreement with the rule, {} without a label."""
        open_messages = {message_rollout(text).id: text for text in messages}
        while open_messages:
            try:
                verdicts = _verdicts(self._judge, list(open_messages.values()))
                break
            except VerifierError as error:
                if error.trajectory not in open_messages:
                    raise
                self._failed.add(open_messages.pop(error.trajectory))
        if not open_messages:
            return {}
        self._labels |= dict(zip(open_messages.values(), map(float, verdicts), strict=True))
        return {"agreement": float((verdicts == _verdicts(self._rule, list(open_messages.values()))).mean())}

    def _usage(self, rollouts: Sequence[Sequence[str]]) -> dict[str, float]:
        """Shares of the messages of a step."""
        every = [text for own in rollouts for text in own]
        worth = dict(zip(dict.fromkeys(every), self._reward.scores(list(dict.fromkeys(every))), strict=True))
        paid = [Counter(text for text in own if worth[text] > 0) for own in rollouts]
        total = sum(own.total() for own in paid)
        repeated = total - sum(len(own) for own in paid)
        size = max(len(every), 1)
        return {
            "unlabelled": sum(text not in self._labels for text in every) / size,
            "rewarded": total / size,
            "repeats": repeated / max(total, 1),
        }


def _verdicts(judge: StepJudge, messages: Sequence[str]) -> np.ndarray:
    """[M] bool."""
    group = Group(PLACE, tuple(message_rollout(one) for one in messages))
    return np.array([own[0] > 0.5 for own in judge.score_steps(group)], bool)
