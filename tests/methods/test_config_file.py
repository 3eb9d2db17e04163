"""Configuration files: reading, errors with file and line, and the round trip of all options."""

import json

import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.catalog import list_methods
from handaxe.methods.config_file import dump_config, read_config
from handaxe.methods.method import RunSettings
from handaxe.methods.run_spec import run_template

TEXT = """method = "otc"
smooth = 2
group-size = 4
stop_when = ["pass@1>=0.9"]
eval_every = 1

[world]
name = "gym"
noise = 0.5

[base]
name = "dapo"
"""


def parse(*words, method=""):
    return parse_train(method, [*map(str, words)], prog="handaxe train", also={})[0]


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(TEXT)
    return file


def test_file_sets_method_options_and_parts(file):
    spec = parse("--config", file)
    assert spec.name == "otc" and spec.options[""] == {"smooth": 2.0} and spec.settings.group_size == 4
    assert spec.settings.stop_when == ("pass@1>=0.9",)
    assert spec.template.world.name == "gym" and spec.options["world"]["noise"] == 0.5
    assert spec.template.base.name == "dapo"


def test_options_of_the_command_line_win(file):
    spec = parse("--config", file, "--smooth", "3", "--group-size", "8", "--stop-when", "calls<1", "--world.noise", "1")
    assert spec.options[""] == {"smooth": 3.0} and spec.settings.group_size == 8
    assert spec.settings.stop_when == ("calls<1",) and spec.options["world"]["noise"] == 1.0
    assert spec.template.base.name == "dapo"


def test_part_named_on_the_command_line_takes_its_own_defaults(file):
    spec = parse("--config", file, "--world", "arithmetic")
    assert spec.template.world.name == "arithmetic" and spec.settings.group_size == 4
    other = parse("--config", file, method="dapo")
    assert other.name == "dapo" and other.template.base.name == "grpo" and other.settings.group_size == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("smooth", "smoth", "run.toml, line 2: there is no option 'smoth'; did you mean 'smooth'"),
        ("group-size", "group-sizes", "run.toml, line 3: there is no option 'group_sizes'; did you mean 'group_size'"),
        ("noise", "nois", "run.toml, line 9: there is no option 'world.nois'; did you mean 'world.noise'"),
        ('name = "dapo"', 'name = "dapo"\nround = 3', "line 13: there is no option 'base.round'; did"),
        ("= 4", '= "four"', "run.toml, line 3: group_size is 'four' .*valid integer"),
        ("= 0.5", "= [1]", r"run.toml, line 9: world.noise is \[1\] .*valid number"),
        ("= 2", "=", "run.toml is no TOML file: .*line 2"),
        ("= 4", "= 0", "^--group-size is 0; give 1 or more"),
    ],
)  # fmt: skip
def test_wrong_files_are_named_with_line_and_closest_option(file, old, new, message):
    file.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        parse("--config", file)


def test_files_without_a_run_are_refused(tmp_path):
    with pytest.raises(InputError, match="the configuration .*none.toml cannot be read"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "x.json").write_text(json.dumps({"recipe": None}))
    with pytest.raises(InputError, match="x.json is not the recipe.json of a run"):
        read_config(tmp_path / "x.json")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(MethodError, match="the method is missing"):
        parse("--config", tmp_path / "empty.toml")
    (tmp_path / "number.toml").write_text("method = 3")
    with pytest.raises(InputError, match="number.toml: method is 3; give a name"):
        parse("--config", tmp_path / "number.toml")


def test_recipe_json_of_a_run_is_a_file(run):
    spec = parse("--config", run / "recipe.json", "--steps", "9")
    saved = json.loads((run / "recipe.json").read_text())["recipe"]["arguments"]
    assert spec.arguments() == {**saved, "steps": 9} and spec.name == "otc"


def test_file_of_an_older_version_is_renamed(tmp_path):
    arguments = {"world": "sums", "engine": "local", "others": ["user=tiny"]}
    (tmp_path / "recipe.json").write_text(json.dumps({"recipe": {"name": "plain", "arguments": arguments}}))
    spec = parse("--config", tmp_path / "recipe.json")
    assert (spec.name, spec.template.world.name) == ("grpo_no_kl", "arithmetic")
    assert spec.settings.aux_policies == ("user=tiny",)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in list_methods()])
def test_every_method_is_read_back_from_its_file(name, tmp_path):
    try:
        spec = run_template(name).default()
    except MethodError:  # a world with a required option
        pytest.skip("the world needs an option")
    (tmp_path / "run.toml").write_text(dump_config(spec))
    assert parse("--config", tmp_path / "run.toml").arguments() == spec.arguments()


def test_none_is_written_where_the_default_is_a_value(tmp_path):
    spec = parse("--tools", "None", method="retool")
    assert spec.settings.tools is None and run_template("retool").settings().tools == ("python",)
    (tmp_path / "run.toml").write_text(dump_config(spec))
    assert parse("--config", tmp_path / "run.toml").arguments() == spec.arguments()


def test_options_of_the_output_may_be_in_the_file(file):
    file.write_text('log = ["wandb"]\nservers = "1"\nquiet = true\n'.replace('"1"', '["1"]') + TEXT)
    _, more = parse_train("", ["--config", str(file)], prog="", also={"run": RunOptions})
    options = more["run"]
    assert options.log == ("wandb",) and options.quiet and options.machines.start_servers == 1
    assert RunSettings().steps == 20 and options.out is None
