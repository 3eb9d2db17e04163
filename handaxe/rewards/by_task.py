"""Rewards every task by the reward for its kind."""

from collections.abc import Mapping

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.composite import Composite
from handaxe.rewards.parts.checks import checked

__all__ = ["by_task"]


def by_task(*, key: str, rewards: Mapping[str, Reward]) -> Reward:
    """Choose the reward by what a task says of itself.

        R = R_k(group)        k = task.metadata[key]

    Args:
        key: of the metadata that names the kind.
        rewards: by kind. Only the one that is chosen sees the group.

    Returns:
        A reward; what it says is what the chosen one says, channels and turns included. The state of each is saved.

    Raises:
        InputError: no rewards. TaskError: a task without the key, or of a kind that is not among them.

    Example:
        {"number": numeric_match(), "words": token_f1()}: a task whose metadata has {"kind": "words"} earns its token F1

    Paper: arXiv:2505.24164 (Mixed-R1), a reward for each type of question.
    Differs: nothing.
    """
    if not rewards:
        raise InputError("by_task has no rewards to choose from; give one for each kind of task")
    return _ByTask(key, dict(rewards))


class _ByTask(Composite):
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
        return checked(self._rewards[kind](group), group, kind)

    def parts(self) -> Mapping[str, object]:
        return self._rewards
