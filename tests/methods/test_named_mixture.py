"""World `mixture` of the command line, and runs of it from another folder."""

import json
import shutil

import pytest

from handaxe.cli import main
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.config_file import dump_config, read_config
from handaxe.methods.named_mixture import mixture, replace_paths
from handaxe.methods.run_folder import recorded_run
from handaxe.methods.run_spec import run_template
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.mixture import mixture as mix

SHORT = ["--groups", "4", "--group-size", "2", "--held-out", "8", "--max-tokens", "4", "--tools", "none", "--quiet"]
PARTS = ["a", "jsonl --file a.jsonl --score numeric_match", "b", "jsonl --score=token_f1 --file=b.csv"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    here = tmp_path / "start"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "a.jsonl").write_text("\n".join(json.dumps({"question": f"a {k}?", "answer": k}) for k in range(40)))
    (here / "b.csv").write_text("question,answer\n" + "".join(f"b {k}?,{k}\n" for k in range(40)))
    return here


def test_parts_have_names_options_and_weights(files):
    world = mixture(parts={"a": "jsonl --file a.jsonl", "sum": "arithmetic --easy 0.5"}, weights={"a": 1, "sum": 3})
    tasks = world.tasks("train", 8, 0)
    assert [task.metadata["part"] for task in tasks] == ["a", "sum", "sum", "sum"] * 2
    assert world.breakdown == ("part",) and set(world.files) == {"parts.a.file"}
    assert world.tasks("test", 4, 0)[0].metadata["part"] == "a"


def test_two_parts_of_one_world_have_different_tasks():
    world = mixture(parts={"x": "arithmetic", "y": "arithmetic --easy 0.1"})
    tasks = world.tasks("train", 40, 0)
    assert len({task.id for task in tasks}) == 40 and world.curriculum(tasks, 0).next(0, 4)


@pytest.mark.parametrize(
    "parts, error, message",
    [
        ({"x": "arithmetik"}, InputError, "there is no world 'arithmetik'; did you mean arithmetic"),
        ({"x": "jsonl"}, MethodError, "part x: jsonl.*--file"),
        ({"x": "arithmetic --eassy 1"}, MethodError, "part x: arithmetic --eassy 1.* does not parse"),
        ({"x y": "arithmetic"}, InputError, "part 'x y' has no name of letters"),
        ({"x": ""}, InputError, "part 'x' names no world"),
        ({"x": "'"}, InputError, "part 'x', \"'\", does not parse"),
        ({"x": "mixture --parts y gym"}, InputError, "part 'x' is a mixture; name its parts in the outer"),
        ({"x": "jsonl --file a.jsonl", "y": "jsonl --file b.csv --test-share 0.3"}, InputError, r"\(x 0.2, y 0.3\)"),
    ],
)
def test_a_bad_part_raises_with_its_name(files, parts, error, message):
    with pytest.raises(error, match=message):
        mixture(parts=parts)


def test_bad_weights_raise_in_one_sentence():
    with pytest.raises(InputError, match="the weight of part 'x' is 0; give a whole number of 1 or more"):
        mixture(parts={"x": "arithmetic"}, weights={"x": 0})
    with pytest.raises(InputError, match="the weights are of y, and the parts are x"):
        mixture(parts={"x": "arithmetic"}, weights={"y": 1})


def test_files_of_parts_and_of_options_are_replaced():
    given = {"parts": {"a": "jsonl --file 'my a.jsonl' --score x:y", "b": "jsonl --file=b.jsonl"}, "data": "old"}
    files = {"parts.a.file": "new a.jsonl", "parts.b.file": "new.jsonl", "data": "c", "file": "d", "parts.c.file": "e"}
    assert replace_paths(given, files) == {
        "parts": {"a": "jsonl --file 'new a.jsonl' --score x:y", "b": "jsonl --file new.jsonl"},
        "data": "c",
    }


@pytest.mark.slow
def test_a_run_goes_on_from_another_folder_without_its_files(files, tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    words = ["--world", "mixture", "--world.parts", *PARTS, "--world.weights", "a", "3", "b", "1"]
    assert main(["train", "grpo_no_kl", *words, *SHORT, "--steps", "2", "--out", str(run)]) == 0
    assert main(["train", "grpo_no_kl", *words, *SHORT, "--steps", "3", "--out", str(tmp_path / "whole")]) == 0
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    shutil.rmtree(files)
    assert main(["eval", str(run)]) == 0
    assert "b" in capsys.readouterr().out
    assert main(["resume", str(run), "--steps", "3", "--quiet"]) == 0
    with RunRecord.open(run) as record, RunRecord.open(tmp_path / "whole") as whole:
        found = [[one.task.id for one in each.trajectories()] for each in (record, whole)]
    assert found[0] == found[1] and len(found[0]) == 24
    assert read_config(run / "recipe.json").arguments["world.parts"]["b"].split()[0] == "jsonl"
    assert recorded_run(run).spec.files.keys() == {"parts.a.file", "parts.b.file"}


def test_a_configuration_file_holds_parts(tmp_path):
    spec = run_template("grpo_no_kl", world="mixture").read({"world.parts": {"x": "arithmetic --easy 0.5"}})
    (tmp_path / "run.toml").write_text(dump_config(spec))
    assert read_config(tmp_path / "run.toml").arguments["world.parts"] == {"x": "arithmetic --easy 0.5"}


def test_python_and_command_line_have_equal_weights():
    from handaxe.worlds.arithmetic import arithmetic

    weights = {"x": 2, "y": 1}
    named = mixture(parts={"x": "arithmetic", "y": "arithmetic"}, weights=weights)
    plain = mix({"x": arithmetic(), "y": arithmetic(easy=0.1)}, weights=weights)
    both = [
        [task.metadata["part"] for task in world.curriculum(named.tasks("train", 30, 0), 5).next(0, 30)]
        for world in (named, plain)
    ]
    assert both[0] == both[1]
