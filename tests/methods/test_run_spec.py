import json

import pytest

from handaxe.baselines.grpo import grpo
from handaxe.baselines.grpo_no_kl import grpo_no_kl
from handaxe.core.errors import InputError, MethodError
from handaxe.methods.method import Method
from handaxe.methods.run_spec import RunSpec, base_spec, is_root, method_page, run_template


def test_template_has_base_world_and_settings_of_the_page():
    made = run_template("retool")
    assert (made.base.name, made.world.name, made.engine.name) == ("ppo", "gym", "local")
    spec = made.default()
    assert spec.options["base"]["lam"] == 1.0 and spec.settings.tools == ("python",)
    assert run_template("otc").world.name == "arithmetic"


def test_base_and_world_can_be_replaced():
    made = run_template("retool", base="grpo", world="arithmetic")
    assert made.base.make is grpo and made.world.name == "arithmetic"
    assert list(made.default().options["base"]) == ["kl_coefficient", "minibatches"]


def test_naming_the_base_of_the_page_keeps_its_options():
    assert run_template("retool", base="ppo").default().options == run_template("retool").default().options


def test_root_method_has_no_base():
    assert is_root(grpo_no_kl) and not is_root(grpo)
    assert run_template("grpo_no_kl").base is None
    with pytest.raises(InputError, match="leave --base out"):
        run_template("grpo_no_kl", base="grpo")
    with pytest.raises(InputError, match="has no base"):
        base_spec(run_template("grpo_no_kl").default())


def test_spec_of_base_keeps_settings_and_world():
    spec = run_template("dapo").read({"steps": 7, "world.last_number": True, "base.kl_coefficient": 0.5})
    base = base_spec(spec)
    assert base.name == "grpo" and base.options[""] == {"kl_coefficient": 0.5, "minibatches": 4}
    assert base.settings == spec.settings and base.options["world"]["last_number"] is True
    assert base.template.base.name == "grpo_no_kl" and base_spec(base).name == "grpo_no_kl"
    assert base_spec(base_spec(base).template and spec).arguments()["base"] == "grpo_no_kl"


def test_arguments_round_trip_through_json():
    spec = run_template("dapo", world="arithmetic").read(
        {"steps": 7, "rounds": 2, "tools": ["python"], "world.easy": 0.25}
    )
    saved = json.loads(json.dumps(spec.arguments()))
    assert saved["base"] == "grpo" and saved["world.easy"] == 0.25 and saved["rounds"] == 2
    again = run_template("dapo", base=saved["base"], world=saved["world"], engine=saved["engine"]).read(saved)
    assert isinstance(again, RunSpec) and again.arguments() == spec.arguments()
    assert (again.options, again.settings, again.files) == (spec.options, spec.settings, spec.files)


@pytest.mark.parametrize("saved", [{"gone": 1}, {"base.gone": 1}, {"steps": "many"}, {"nowhere.x": 1}])
def test_saved_arguments_of_another_version_raise(saved):
    with pytest.raises(MethodError):
        run_template("dapo").read(saved)


def test_two_options_of_one_name_raise():
    def greedy(base: Method, *, steps: int = 3) -> Method:
        return base

    made = run_template("otc")
    made = made.__class__(
        made.method._replace(name="greedy", make=greedy), made.page, made.base, made.world, made.engine
    )
    with pytest.raises(MethodError, match="method greedy has an argument 'steps', and so has every run: rename it"):
        made.check({})
    with pytest.raises(MethodError, match="'smooth', and so has every run"):
        run_template("otc").check({"smooth": "every run"})


def method_without_a_page(base):
    return base


def test_method_without_a_page_has_defaults():
    page = method_page(method_without_a_page)
    assert (page.base, page.world, page.claims) == ("grpo_no_kl", "gym", ())


def test_a_method_may_name_an_option_as_an_engine_names_an_argument():
    """The engine's arguments heads, critic, model and reference come from the method, and are options of no engine."""

    def judged(base: Method, *, reference: bool = False, heads: int = 5) -> Method:
        return base

    made = run_template("otc")
    assert [one.name for one in made.method._replace(make=judged).options()] == ["reference", "heads"]
    assert not {"reference", "heads", "critic", "model"} & {one.name for one in made.with_engine().engine.options()}
    assert "heads" in run_template("brme").default().options[""]


def unlisted(base: Method) -> Method:
    """A method without a page."""
    return base


def test_a_method_without_a_page_has_world_and_settings_of_its_base():
    template = run_template(f"{__name__}:unlisted", base="toolrl")
    assert template.world.name == run_template("toolrl").world.name
    assert template.default().settings == run_template("toolrl").default().settings
    assert run_template(f"{__name__}:unlisted", base="toolrl", world="gym").world.name == "gym"
    assert run_template(f"{__name__}:unlisted").page.base == "grpo_no_kl"
