from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import HandaxeError
from handaxe.core.records import Scores
from handaxe.methods import fingerprint as fingerprints
from handaxe.methods.fingerprint import VERSION, Fingerprinter, changed_parts
from handaxe.methods.run_spec import run_template
from handaxe.worlds import arithmetic as arithmetic_world

PARTS = ["version", "tasks", "rollouts", "scores", "advantages", "loss", "updates", "evaluation"]


@pytest.fixture(scope="module")
def spec():
    return run_template("otc").default()


@pytest.fixture(scope="module")
def whole(spec):
    return Fingerprinter().fingerprint(spec)


def test_fingerprint_is_deterministic_and_independent_of_the_seed(spec, whole):
    seeded = replace(spec, settings=replace(spec.settings, seed=7))
    assert Fingerprinter().fingerprint(seeded) == whole
    assert list(whole) == PARTS and not changed_parts(whole, whole)


def test_another_option_of_the_world_changes_the_tasks(whole):
    other = Fingerprinter().fingerprint(run_template("otc").read({"world.easy": 0.0}))
    assert changed_parts(whole, other)[0] == "tasks"


def test_rollouts_of_a_world_are_played_once(spec, monkeypatch):
    made, played = Fingerprinter(), []
    real = fingerprints._play_groups
    monkeypatch.setattr(fingerprints, "_play_groups", lambda *more: played.append(1) or real(*more))
    made.fingerprint(spec)
    made.fingerprint(run_template("grpo_no_kl", world="arithmetic").default())
    assert len(played) == 1


def test_a_change_of_the_reward_changes_scores_and_advantages(spec, whole, monkeypatch):
    real = fingerprints.make_method

    def changed(*arguments):
        method = real(*arguments)

        def reward(group):
            scores = method.reward(group)
            return replace(scores, outcome=scores.outcome + 0.25 * np.arange(len(group)))

        return replace(method, reward=reward)

    monkeypatch.setattr(fingerprints, "make_method", changed)
    assert changed_parts(whole, Fingerprinter().fingerprint(spec)) == ["scores", "advantages", "loss"]


def test_a_change_of_the_loss_changes_the_loss_alone(spec, whole, monkeypatch):
    real = fingerprints.make_loss

    def doubled(method):
        loss = real(method)

        def changed(out, batch):
            found = loss(out, batch)
            return found._replace(value=2 * found.value)

        return changed

    monkeypatch.setattr(fingerprints, "make_loss", doubled)
    assert changed_parts(whole, Fingerprinter().fingerprint(spec)) == ["loss"]


def test_a_part_that_raises_has_a_digest_of_its_own(spec, whole, monkeypatch):
    real = fingerprints.make_method

    def broken(group, scores):
        raise ZeroDivisionError

    monkeypatch.setattr(fingerprints, "make_method", lambda *more: replace(real(*more), credit=broken))
    assert changed_parts(whole, Fingerprinter().fingerprint(spec)) == ["advantages", "loss"]


def test_a_change_of_the_correctness_rule_changes_scores_and_evaluation(spec, whole, monkeypatch):
    real = fingerprints.make_world
    wrong = lambda group: Scores(np.zeros(len(group)))  # noqa: E731
    monkeypatch.setattr(fingerprints, "make_world", lambda spec: replace(real(spec), correct=wrong))
    changed = changed_parts(whole, Fingerprinter().fingerprint(spec))
    assert {"scores", "evaluation"} <= set(changed) and "rollouts" not in changed


def test_an_unknown_version_is_an_error(whole):
    with pytest.raises(HandaxeError, match=f"has version 99, and this version of handaxe makes {VERSION}"):
        changed_parts({**whole, "version": 99}, whole)


def test_a_world_without_an_expert_has_rollouts_of_empty_answers(monkeypatch):
    world = replace(arithmetic_world(), expert=None)
    groups = fingerprints._play_groups(world, world.tools)
    assert len(groups) == 8 and all([one.id for one in group] == ["empty"] for group in groups)


def test_a_change_of_minibatches_changes_updates_alone(spec, whole, monkeypatch):
    real = fingerprints.make_method
    monkeypatch.setattr(fingerprints, "make_method", lambda *given: replace(real(*given), minibatches=4))
    assert changed_parts(whole, Fingerprinter().fingerprint(spec)) == ["updates"]
