import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Criterion
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.calm.subgoals import subgoals
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.hops.world import hops


def says(trajectory, criteria):
    """A criterion is met after a turn whose text holds its name, and not after the next one unless that does too."""
    return np.array([[one.name in turn.parsed.text for turn in trajectory.turns] for one in criteria], bool).reshape(
        len(criteria), len(trajectory.turns)
    )


def of(*names):
    return lambda task: [Criterion(name, "") for name in names]


CONTRACT = [{"criteria": of("4"), "check": says}, {"criteria": of("4", "5"), "check": says}]
LAB = [
    LabCase("subgoals(...)", hops, lambda world: subgoals(criteria=world.need("criteria"), check=world.need("check"))),
]
KEY_DOOR = {"criteria": of("key", "door"), "check": says}


def attempts(*texts):
    return make_group(trajectories=[make_trajectory(texts=own, id=str(i)) for i, own in enumerate(texts)])


def test_subgoals_matches_its_example():
    group = attempts(["", "key", "", "door"])
    scores = subgoals(**KEY_DOOR)(group)
    assert scores.turns[0].tolist() == [0, 0.5, 0, 0.5] and scores.outcome.tolist() == [0]
    won = outcome(lambda one: 1.0)
    both = weighted({"won": (1.0, won), "goals": (1.0, subgoals(**KEY_DOOR))})(group)
    assert [*both.turns[0][:-1], both.turns[0][-1] + both.outcome[0]] == [0, 0.5, 0, 1.5]


def test_subgoals_pay_in_order_once_and_one_a_turn():
    told = [["door", "key", ""], ["key door", "", ""], ["key", "key", "key"], ["door"], [""]]
    scores = subgoals(**KEY_DOOR, bonus=1.0)(attempts(*told))
    assert [own.tolist() for own in scores.turns] == [[0, 1, 1], [1, 1, 0], [1, 0, 0], [0], [0]]
    assert scores.channels["reached"].tolist() == [1, 1, 0.5, 0, 0]


def test_verdicts_on_earlier_turns_count_only_for_states():
    """A false yes about the door in turn 0: once the key is there the door is paid at once, or when it is opened."""
    group = attempts(["door", "key", "", "door"])
    met, told = (subgoals(**KEY_DOOR, bonus=1.0, per_transition=one)(group).turns[0].tolist() for one in (False, True))
    assert met == [0, 1, 1, 0] and told == [0, 1, 0, 1]


def test_subgoals_matches_a_slow_loop():
    rng = np.random.default_rng(5)
    names = ("a", "b", "c")
    texts = [[" ".join(n for n in names if rng.random() < 0.4) for _ in range(rng.integers(1, 7))] for _ in range(12)]
    scores = subgoals(criteria=of(*names), check=says)(attempts(*texts))
    for own, said in zip(scores.turns, texts, strict=True):
        left = list(names)
        for n in range(len(said)):
            hit = bool(left) and any(left[0] in text for text in said[: n + 1])
            assert own[n] == (0.5 if hit else 0.0)
            left = left[1:] if hit else left


def test_tasks_without_subgoals_or_turns_earn_0():
    nothing = subgoals(criteria=of(), check=says)(attempts(["key"]))
    assert nothing.turns[0].tolist() == [0] and nothing.channels["reached"].tolist() == [0]
    with pytest.raises(InputError, match="bonus=0"):
        subgoals(**KEY_DOOR, bonus=0)
    with pytest.raises(TaskError, match="different names"):
        subgoals(criteria=of("key", "key"), check=says)(attempts(["key"]))
