"""References of tasks: the best of n images of the first policy, by a judge of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.core.records import Group, Task
from handaxe.judges.viewed import last_image
from handaxe.training.stages.sources import played

__all__ = ["ReferenceImages", "best_images"]

Yes = Callable[[Sequence[tuple[Task, Image | None, Image | None]]], np.ndarray]
"""(task, candidate, reference) -> probabilities, such as `YesJudge.yes`."""


def best_images(group: Group, *, yes: Yes, top: int = 1) -> list[Image]:
    """Choose the images that win most often against the others of a group.

        w_i = mean over j != i of P(yes | reference_j, candidate_i)

    Args:
        group: rollouts; those without an image are left out.
        yes: judge of pairs.
        top: images at most, the best first.

    Returns:
        Images, none if no rollout has one.

    Raises:
        InputError: `top` below 1.

    Example:
        P(yes) 0.9 of a against b, 0.2 of b against a: a

    Paper: arXiv:2509.08826 (RewardDance), section 3.3.1, references by best of n.
    Differs: a mean of probabilities; the paper counts wins.
    """
    if top < 1:
        raise InputError(f"top is {top}; give 1 reference or more")
    images = [image for image in map(last_image, group) if image is not None]
    places = [(i, j) for i in range(len(images)) for j in range(len(images)) if i != j]
    chance_P = yes([(group.task, images[i], images[j]) for i, j in places]) if places else np.zeros(0)
    won_I = np.zeros(len(images))
    for (i, _), chance in zip(places, chance_P, strict=True):
        won_I[i] += chance
    return [images[i] for i in np.argsort(-won_I, kind="stable")[:top]]


class ReferenceImages:
    """References of `compared`: a function of the task, filled by a stage.

    The stage plays `count` rollouts at each of `tasks` tasks of the curriculum, with the policy as it is, and keeps the
    best images. A resumed run reads them from the stage's record.

    Args:
        reward: of the record, not used otherwise.
        tasks: tasks of the curriculum, from its first.
        count: n, rollouts of a task.
        top: references of a task.

    Example:
        references = ReferenceImages(reward=reward, tasks=64, count=4)
        stages = (references.stage(lambda: judge.fitted().yes),)

    Paper: arXiv:2509.08826 (RewardDance), references by best of n of the first policy.
    """

    def __init__(self, *, reward: Reward, tasks: int, count: int, top: int = 1):
        self._source = played(groups=tasks, group_size=count, arguments={"reward": reward})
        self._top = top
        self._found: dict[str, list[Image]] = {}

    def __call__(self, task: Task) -> Sequence[Image]:
        """The references, none for a task that the stage did not play."""
        return self._found.get(task.id, ())

    def stage(self, yes: Callable[[], Yes]) -> Stage:
        """Make the stage; its metric is the number of references."""

        def reference_images(site: StageContext) -> list[dict[str, float]]:
            for one in self._source(site):
                self._found[one.group.task.id] = best_images(one.group, yes=yes(), top=self._top)
            return [{"step": 0.0, "references": float(sum(map(len, self._found.values())))}]

        return reference_images
