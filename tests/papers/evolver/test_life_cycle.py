import numpy as np
import pytest

pytest.importorskip("bm25s")
from helpers.case_reader import CaseReader
from helpers.embed_words import embed_words

from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.evolver import _correct, _figures
from handaxe.papers.evolver.life_cycle import distil, evolve, play_with_principles, principle_line
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.worlds.hops.coded_hops import coded_hops


def guess(person):
    return [("ally", "boss", "heir", "idol")[int(person) % 4]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        world = coded_hops(codes=4, shown=0, size=40)
        yield FrozenPolicy(world, CaseReader(world, guess), Compact())


def test_distil_and_line(policy):
    (found,) = play_with_principles(policy, policy.world.tasks("train", 1, 0), PrincipleStore(embed_words), seed=0)
    one, used, right = found
    code, path = one.task.metadata["code"], [str(call.arguments["query"]).split()[-1] for call in one.calls]
    assert distil(one, success=True) == " ".join(["+", f"{code}:", *path]) and used == []
    assert distil(one, success=False).startswith("- ") and isinstance(right, bool)
    assert principle_line("+ K: boss ally") == "+ 0000 K: boss ally"


def test_principles_raise_success_over_the_rounds(policy):
    store, tasks = PrincipleStore(embed_words), policy.world.tasks("train", 40, 1)
    success = evolve(policy, tasks, store, rounds=3, flips=0.0, seed=0)
    short = {task.metadata["code"] for task in tasks if len(task.metadata["path"]) == 1}
    reachable = np.mean([task.metadata["code"] in short for task in tasks])
    assert success[0] < success[-1] <= reachable
    meaning = {task.metadata["code"]: task.metadata["path"] for task in tasks}
    assert _correct(store, meaning) == 1.0 and all(one.score >= 0.3 for one in store.principles)
    assert len(store) < 40


def test_wrong_principles_are_deleted(policy):
    tasks = policy.world.tasks("train", 40, 1)
    meaning = {task.metadata["code"]: task.metadata["path"] for task in tasks}
    stores = [PrincipleStore(embed_words, floor=floor) for floor in (0.3, 0.0)]
    for store in stores:
        evolve(policy, tasks, store, rounds=3, flips=0.2, seed=0)
    pruned, kept = stores
    assert len(pruned) < len(kept) and np.mean(pruned.scores) > np.mean(kept.scores)
    assert _correct(pruned, meaning) >= _correct(kept, meaning)
    assert np.isnan(_correct(PrincipleStore(embed_words), {}))


def test_figures_are_paired_differences():
    found = {name: np.array([0.1, 0.3]) * n for n, name in enumerate(("none", "unpruned", "unmerged", "evolver"), 1)}
    found |= {"round/0": np.array([0.1, 0.2]), "round/1": np.array([0.3, 0.4])}
    found |= {"evolver/score": np.array([0.7, 0.8]), "unpruned/score": np.array([0.5, 0.6])}
    made = _figures(found, 2)
    assert made["gain/none"] == pytest.approx(0.6) and made["round/gain"] == pytest.approx(0.2)
    assert made["gain_score/unpruned"] == pytest.approx(0.2) and made["gain/unmerged"] == pytest.approx(0.2)
