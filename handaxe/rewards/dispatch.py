"""Selects the reward by the kind of the task."""

from collections.abc import Mapping

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite
from handaxe.rewards.parts.checks import validate_scores

__all__ = ["dispatch"]


def dispatch(*, key: str, rewards: Mapping[str, Reward]) -> Reward:
    """Choose the reward by the kind in a task's metadata.

        R = R_k(group)        k = task.metadata[key]

    Args:
        key: of the metadata with the kind.
        rewards: by kind. Only the chosen one receives the group.

    Returns:
        A reward with the chosen reward's scores, channels and turns included. Its state holds the state of each.

    Raises:
        InputError: no rewards. TaskError: a task without the key, or of an unknown kind.

    Example:
        {"number": numeric_match(), "words": token_f1()}: a task with the metadata {"kind": "words"} earns its token F1

    Paper: arXiv:2505.24164 (Mixed-R1), a reward for each type of question.
    Differs: nothing.
    """
    if not rewards:
        raise InputError("dispatch has no rewards to choose from; give one for each kind of task")
    return _Dispatch(key, dict(rewards))


class _Dispatch(StatefulComposite):
    def __init__(self, key: str, rewards: Mapping[str, Reward]):
        self._key, self._rewards = key, rewards

    def __call__(self, group: Group) -> Scores:
        task = group.task
        kind = task.metadata.get(self._key)
        if not isinstance(kind, str) or kind not in self._rewards:
            raise TaskError(
                f"task {task.id!r} has {kind!r} as metadata {self._key!r}; there are rewards for "
                f"{', '.join(sorted(self._rewards))}"
            )
        return validate_scores(self._rewards[kind](group), group, kind)

    def parts(self) -> Mapping[str, object]:
        return self._rewards
