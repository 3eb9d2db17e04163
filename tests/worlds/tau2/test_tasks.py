"""Splits of tau2's tasks, and equality with the package's composer."""

import pytest

pytest.importorskip("tau2")

from handaxe.core.errors import TaskError
from handaxe.worlds.tau2.domains import package
from handaxe.worlds.tau2.tasks import count_atoms
from handaxe.worlds.tau2.world import tau2


def scenarios(split, **arguments):
    return {one.metadata["scenario"] for one in tau2(**arguments).tasks(split, 10_000, 0)}


@pytest.mark.parametrize(("domain", "train", "test"), [("telecom", 74, 40), ("retail", 74, 40), ("airline", 30, 20)])
def test_the_benchmark_has_the_packages_split(domain, train, test):
    sides = package(domain).sides
    assert scenarios("train", domain=domain) == sides["train"] and len(sides["train"]) == train
    assert scenarios("test", domain=domain) == sides["test"] and len(sides["test"]) == test


def test_every_composition_has_one_split():
    every = tuple(range(1, 10))
    train, test = scenarios("train", atoms=every), scenarios("test", atoms=every)
    assert not train & test and len(train | test) == 2285
    assert package("telecom").sides["test"] <= test and package("telecom").sides["train"] <= train
    assert 0.15 < len(test) / 2285 < 0.25
    for atoms in (1, 2, 3):
        assert {count_atoms(one) for one in scenarios("train", atoms=(atoms,))} == {atoms}
        assert scenarios("test", atoms=(atoms,)) <= test


def test_each_persona_is_a_separate_task():
    world = tau2(brief=True, personas=("static", "plain"), test_personas=("hard",))
    train, test = world.tasks("train", 10_000, 0), world.tasks("test", 10_000, 0)
    assert len(train) == 2 * len(scenarios("train", brief=True)) and len({one.id for one in train}) == len(train)
    assert {one.metadata["persona"] for one in test} == {"hard"}
    assert [one.id for one in world.tasks("train", 5, 1)] != [one.id for one in train[:5]]


def test_compositions_equal_the_packages():
    """Except for combinations without a purchase of data, which the package's file excludes."""
    from tau2.domains.telecom.tasks import mms_issues, mobile_data_issues, service_issues
    from tau2.domains.telecom.tasks.utils import compose_tasks

    managers = (
        mms_issues.mms_issue_task_manager,
        mobile_data_issues.mobile_data_task_manager,
        service_issues.service_issues_task_manager,
    )
    made = set()
    for one in managers:
        found = compose_tasks(one.selection_sets, one.task_validator)
        made |= {f"[{one.name}]{composed.name}" for composed in found if composed.composed_from}
    made = {name for name in made if "no_refuel" not in name}
    assert {one.partition("[PERSONA:")[0] for one in package("telecom").raw} == made


def test_the_policy_text_is_missing_in_brief_worlds_only():
    def first(**arguments):
        return tau2(**arguments).tasks("test", 1, 0)[0].messages

    assert [one.role for one in first()] == ["system", "user"] and len(first()[0].content) > 20_000
    assert [one.role for one in first(policy="none")] == ["user"] == [one.role for one in first(brief=True)]
    assert first(mode="solo")[0].content != first()[0].content


def test_invalid_choices_raise():
    with pytest.raises(TaskError, match="no task to train"):
        tau2(atoms=(12,)).tasks("train", 1, 0)
    with pytest.raises(TaskError, match="empty"):
        tau2().tasks("train", 0, 0)
