from types import SimpleNamespace

import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation import reward_model_family as module
from handaxe.evaluation.reward_model_family import FamilyMember, fit_family, start_family
from handaxe.evaluation.scenes import play, script
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.testing.make_records import make_rated
from handaxe.worlds.fact_chains import fact_chains, judged_labels

WORLD = fact_chains()


def model():
    return TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=256), seed=0)


def engine():
    return LocalEngine(model())


def groups_of(count, seed=0):
    made = []
    for task in WORLD.tasks("train", count, seed):
        right = play(WORLD, WORLD.tools, task, WORLD.expert, id="right")
        wrong = play(WORLD, WORLD.tools, task, script("77"), id="wrong")
        made.append(make_rated(group=Group(task, (right, wrong)), outcome=[1.0, 0.0]))
    return made


def test_members_learn_from_more_and_more_groups():
    lessons, seen = [groups_of(4), groups_of(4, seed=1)], []
    for one in fit_family(engine(), lessons, labels=judged_labels, cuts=(1, 2, 4), learning_rate=0.01):
        seen.append((one.name, one.judge._own.version, tuple(one.score(lessons[0][0].group))))
    assert [name for name, _, _ in seen] == [
        f"{kind}-{cut}-{seed}" for seed in (0, 1) for kind in ("orm", "prm") for cut in (1, 2, 4)
    ]
    assert [steps for _, steps, _ in seen[:6]] == [1, 2, 3, 1, 2, 3]
    assert len({scores for _, _, scores in seen}) == 12


def test_a_family_starts_from_the_policy_and_labels_its_rollouts(monkeypatch):
    asked = []

    def play_groups(engine, format, world, **options):
        asked.append(options)
        return groups_of(options["tasks"], seed=len(asked))

    monkeypatch.setattr(module, "play_groups", play_groups)
    monkeypatch.setattr(module, "start_policy", lambda world: SimpleNamespace(model=model(), format=None))
    play, members = start_family(WORLD, labels=judged_labels, salt="s", seed=5, series=2, labelled=12, siblings=3)
    seeds = [derive_seed("s", 5, k) % 2**31 for k in range(2)]
    assert asked == [{"split": "train", "tasks": 12, "siblings": 3, "seed": seed} for seed in seeds]
    assert [one.name for one in members] == [
        f"{kind}-{cut}-{k}" for k in (0, 1) for kind in ("orm", "prm") for cut in (1, 4, 12)
    ]
    assert len(play(split="test", tasks=1, siblings=2, seed=0)) == 1


class Steps:
    def score(self, group):
        return np.full(len(group), 0.3)

    def score_steps(self, group):
        return tuple(np.array([0.9, 0.2, 0.95][: len(one.turns)]) for one in group)


@pytest.mark.parametrize(
    "name, aggregate, value", [("orm-8-0", "min", 0.3), ("prm-8-0", "min", 0.2), ("prm-8-0", "max", 0.95)]
)
def test_a_process_model_scores_by_an_aggregate(name, aggregate, value):
    (one,) = groups_of(1)
    assert FamilyMember(name, Steps()).score(one.group, aggregate)[0] == pytest.approx(value)
