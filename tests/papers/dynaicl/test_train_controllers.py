import sys

import numpy as np

from handaxe.core.records import Message, Task
from handaxe.papers.dynaicl.train_controllers import ControllerStages, _labels, train_controllers

TASKS = [Task(f"q{need}", (Message("user", f"{need}?"),), "") for need in (0, 2, 4, 0, 2, 4)]
STAGES = ControllerStages(most=3, prompts=3, subsets=2, threshold=0.5, batch=2, cost=0.1)


class Player:
    """A question needs as many demonstrations as its id says."""

    def __init__(self):
        self.played = []

    def correct(self, tasks, counts, *, seed):
        self.played.append(len(tasks))
        return [float(count >= int(task.id[-1])) for task, count in zip(tasks, counts, strict=True)]


def test_labels_are_the_least_numbers_with_enough_accuracy():
    """Four demonstrations are beyond the most, 3, and no number is enough: the label is 0."""
    player = Player()
    assert _labels(player, TASKS[:3], STAGES, seed=0) == [0, 2, 0] and player.played == [3 * 4 * 2]


def test_reinforcement_changes_the_second_controller_alone(monkeypatch):
    vectors = {"0?": [1.0, 0.0, 0.0], "2?": [0.0, 1.0, 0.0], "4?": [0.0, 0.0, 1.0]}
    monkeypatch.setattr(
        sys.modules[train_controllers.__module__], "embed", lambda texts: [vectors[text] for text in texts]
    )
    player = Player()
    found = train_controllers(player, TASKS, STAGES, seed=0)
    assert player.played == [24, 2, 1], "labels, and two steps of REINFORCE"
    prompt_PD = np.array([vectors[f"{need}?"] for need in (0, 2, 4)])
    labelled = train_controllers(Player(), TASKS[:3], STAGES, seed=0)
    taught, reinforced = (found[name].expected(prompt_PD) for name in ("taught", "reinforced"))
    assert taught.tolist() == labelled["taught"].expected(prompt_PD).tolist() != reinforced.tolist()
    assert labelled["taught"].expected(prompt_PD).tolist() == labelled["reinforced"].expected(prompt_PD).tolist()
