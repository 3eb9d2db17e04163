from dataclasses import fields, replace

from handaxe.methods.build import make_method, make_world
from handaxe.methods.method import Method
from handaxe.methods.run_spec import run_template


def test_replace_leaves_the_original_unchanged():
    made = run_template("otc").default()
    world = make_world(made)
    method = make_method(made, world)
    assert method.world is world and method.reward is not world.correct
    other = replace(method, epochs=0)
    assert other.epochs == 0 and method.epochs == 1


def test_optional_roles_default_to_no_effect():
    needed = {"world", "reward", "rollout", "credit", "ratio", "surrogate", "reduction"}
    root = make_method(spec := run_template("grpo_no_kl").default(), make_world(spec))
    for field in fields(Method):
        if field.name not in needed:
            named = field.name in ("async_config", "aux_policies", "judge", "select", "settings")
            assert getattr(root, field.name) == field.default or named, field.name
