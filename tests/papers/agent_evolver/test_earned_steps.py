import numpy as np

from handaxe.core.records import Criterion
from handaxe.evaluation.attack_trials import LabCase
from handaxe.judges.noisy import noisy
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.hops.world import hops


def says(trajectory, criteria):
    """A criterion is met by a turn whose text holds its name."""
    return np.array([[one.name in turn.parsed.text for turn in trajectory.turns] for one in criteria], bool).reshape(
        len(criteria), len(trajectory.turns)
    )


def chain(task):
    return [Criterion("one", ""), Criterion("two", "", after=("one",)), Criterion("end", "", after=("two",))]


CONTRACT = [{"criteria": lambda task: [Criterion("4", "")], "check": says}]
LAB = [
    LabCase(
        "earned_steps(...)",
        hops,
        lambda world: earned_steps(criteria=world.need("criteria"), check=world.need("check")),
    ),
]


def group(*texts):
    return make_group(trajectories=[make_trajectory(texts=own, id=str(i)) for i, own in enumerate(texts)])


def test_earned_steps_matches_its_example():
    judge = earned_steps(criteria=chain, check=says)
    tried = group(["one", "two", "one", "end"], ["two", "end"])
    assert [own.tolist() for own in judge.score_steps(tried)] == [[1, 1, -1, 1], [-1, 1]]
    assert judge.score(tried).tolist() == [2, 0]


def test_noise_inverts_the_same_labels_in_both_arms():
    """A wrong label is a function of what was read, so that arms of a comparison have the same ones."""
    told = make_group(layouts=[["U" * k + "tppTtpp"] for k in range(1, 120)])
    judge = earned_steps(criteria=lambda task: [Criterion("one", "")], check=says)
    arms = [noisy(judge=judge, flip=0.2, spread=0.0) for _ in range(2)]
    first, second = (np.concatenate(arm.score_steps(told)) for arm in arms)
    assert first.tolist() == second.tolist() and set(first.tolist()) == {-1.0, 1.0}
    turned = make_group(trajectories=told.trajectories[::-1])
    again = np.concatenate(arms[0].score_steps(turned)[::-1])
    assert again.tolist() == first.tolist()
