"""Curricula by name: equal to their form in Python, resumed exactly, and refused beside a method's own."""

from dataclasses import replace

import pytest

from handaxe.baselines.grpo_no_kl import grpo_no_kl as root
from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.curricula.by_weight import by_weight
from handaxe.curricula.few_tasks import few_tasks
from handaxe.curricula.in_order import in_order
from handaxe.curricula.interleaved import interleaved
from handaxe.curricula.only_tasks import only_tasks
from handaxe.curricula.prune_solved import prune_solved
from handaxe.curricula.requeue_failures import requeue_failures
from handaxe.methods.build import make_method, make_world
from handaxe.methods.lookup import find, list_names
from handaxe.methods.named_curriculum import ignored_order, make_curriculum
from handaxe.methods.run_spec import base_spec, run_template
from handaxe.training.record.run_record import RunRecord

SHORT = [
    "--world",
    "arithmetic",
    "--groups",
    "3",
    "--group-size",
    "2",
    "--held-out",
    "2",
    "--max-tokens",
    "4",
    "--quiet",
]


def own_curriculum(*, count: int = 2):
    """Curriculum of a user."""
    return lambda tasks, seed: in_order(tasks[:count], seed=seed)


def no_curriculum(*, count: int = 2):
    """Fault of a user."""
    return count


def pruning(world, settings):
    """Method with a curriculum, in Python."""
    return replace(root(world, settings), tasks=prune_solved(rate=0.5, above=0.1))


def ids_of(folder):
    with RunRecord.open(folder) as record:
        return [one.task.id for one in record.trajectories()]


def test_names_are_those_of_general_curricula():
    names = ["by_weight", "few_tasks", "in_order", "only_tasks", "prune_solved", "requeue_failures"]
    assert list_names("curricula") == names
    with pytest.raises(InputError, match="there is no curriculum 'prune'; did you mean prune_solved"):
        find("curricula", "prune")


@pytest.mark.parametrize(
    "name, options, python",
    [
        ("in_order", {"shuffle": False}, lambda tasks, seed: in_order(tasks, seed=seed, shuffle=False)),
        ("few_tasks", {"count": 3}, few_tasks(count=3)),
        ("only_tasks", {"key": "kind", "among": ["easy"]}, only_tasks(key="kind", among=("easy",))),
        ("prune_solved", {"rate": 0.5}, prune_solved(rate=0.5)),
        ("requeue_failures", {"share": 0.5}, requeue_failures(share=0.5)),
        ("by_weight", {"key": "size"}, lambda tasks, seed: by_weight(tasks, seed=seed, key="size")),
        (f"{__name__}:own_curriculum", {"count": 4}, own_curriculum(count=4)),
    ],
)
def test_a_name_equals_the_python_form(name, options, python):
    saved = {f"curriculum.{key}": value for key, value in options.items()} | {"seed": 3}
    spec = run_template("grpo_no_kl", world="arithmetic", curriculum=name).read(saved)
    world = make_world(spec)
    tasks = [
        replace(task, metadata={**task.metadata, "kind": "easy" if k % 2 else "hard", "size": 1 + k % 3})
        for k, task in enumerate(world.tasks("train", 40, 0))
    ]
    found = make_curriculum(spec, make_method(spec, world), world, tasks)
    wanted = python(tasks, 3)
    assert [found.next(step, 7) for step in range(9)] == [wanted.next(step, 7) for step in range(9)]
    assert found.state_dict() == wanted.state_dict()


def test_the_base_of_a_claim_has_the_same_curriculum():
    spec = run_template("grpo", curriculum="few_tasks").read({"curriculum.count": 2})
    base = base_spec(spec)
    assert base.template.curriculum.name == "few_tasks" and base.options["curriculum"] == {"count": 2}


@pytest.mark.slow
def test_a_run_of_the_command_line_equals_the_method_and_resumes_exactly(tmp_path):
    words = ["--curriculum", "prune_solved", "--curriculum.rate", "0.5", "--curriculum.above", "0.1"]
    runs = [tmp_path / name for name in ("line", "python", "part")]
    assert main(["train", "grpo_no_kl", *SHORT, *words, "--steps", "4", "--out", str(runs[0])]) == 0
    assert main(["train", f"{__name__}:pruning", *SHORT, "--steps", "4", "--out", str(runs[1])]) == 0
    assert main(["train", "grpo_no_kl", *SHORT, *words, "--steps", "2", "--out", str(runs[2])]) == 0
    assert main(["resume", str(runs[2]), "--steps", "4", "--quiet"]) == 0
    assert ids_of(runs[0]) == ids_of(runs[1]) == ids_of(runs[2])


@pytest.mark.slow
def test_a_configuration_file_names_a_curriculum(tmp_path, capsys):
    words = ["train", "grpo_no_kl", *SHORT, "--steps", "1", "--curriculum", "few_tasks", "--curriculum.count", "2"]
    assert main([*words, "--print-config"]) == 0
    printed = capsys.readouterr().out
    assert '[curriculum]\nname = "few_tasks"\ncount = 2\n' in printed
    (tmp_path / "run.toml").write_text(printed)
    assert main(["train", "--config", str(tmp_path / "run.toml"), "--quiet", "--out", str(tmp_path / "run")]) == 0
    assert len(set(ids_of(tmp_path / "run"))) == 2
    assert main(["train", "grpo_no_kl", "--print-config"]) == 0
    assert "curriculum" not in capsys.readouterr().out


def test_a_method_with_a_curriculum_of_its_own_refuses_another(tmp_path, capsys):
    words = ["--curriculum", "in_order", "--out", str(tmp_path / "run")]
    assert main(["train", "small_task_set", *SHORT, *words]) == 2
    shown = capsys.readouterr().err
    assert "method small_task_set has a curriculum of its own: leave --curriculum in_order out" in shown


def test_a_function_of_another_kind_raises():
    spec = run_template("grpo_no_kl", world="arithmetic", curriculum=f"{__name__}:no_curriculum").default()
    world = make_world(spec)
    with pytest.raises(InputError, match=r"no_curriculum returns int: write \(tasks, \*, seed, options\)"):
        make_curriculum(spec, make_method(spec, world), world, world.tasks("train", 4, 0))


def test_a_wrapping_curriculum_keeps_the_order_of_the_world_and_others_warn():
    weights = interleaved(key="kind", weights={"a": 3, "b": 1}, around={})
    spec = run_template("grpo_no_kl", world="arithmetic", curriculum="prune_solved").default()
    world = replace(make_world(spec), curriculum=weights)
    tasks = [replace(task, metadata={"kind": "ab"[k % 2]}) for k, task in enumerate(world.tasks("train", 20, 0))]
    method = make_method(spec, world)
    found = make_curriculum(spec, method, world, tasks)
    assert [task.metadata["kind"] for task in found.next(0, 8)].count("a") == 6
    assert ignored_order(spec, method, world) == ""
    few = run_template("grpo_no_kl", curriculum="few_tasks").read({"curriculum.count": 2})
    assert "--curriculum few_tasks replaces the order of world arithmetic" in ignored_order(few, method, world)
    own = replace(method, tasks=few_tasks(count=2))
    plain = run_template("grpo_no_kl").default()
    assert "method grpo_no_kl replaces the order" in ignored_order(plain, own, world)
    assert ignored_order(plain, method, world) == ignored_order(plain, own, replace(world, curriculum=None)) == ""


def test_methods_and_help_list_the_names(capsys):
    for words in (["methods"], ["train", "--help"]):
        main(words)
        assert "requeue_failures" in capsys.readouterr().out.replace("\n", " ")
