from dataclasses import fields, replace

from handaxe.methods.build import make_method, make_world
from handaxe.methods.method import Method
from handaxe.methods.run_spec import run_template


def test_a_recipe_is_a_change_that_leaves_its_base_as_it_was():
    made = run_template("otc").default()
    world = make_world(made)
    method = make_method(made, world)
    assert method.world is world and method.reward is not world.correct
    other = replace(method, epochs=0)
    assert other.epochs == 0 and method.epochs == 1


def test_nothing_is_chosen_that_is_not_said():
    """every further role of a method has a default that does nothing"""
    needed = {"world", "reward", "rollout", "credit", "ratio", "surrogate", "reduction"}
    plain = make_method(made := run_template("grpo_no_kl").default(), make_world(made))
    for field in fields(Method):
        if field.name not in needed:
            assert getattr(plain, field.name) == field.default or field.name in ("pace", "select", "settings"), (
                field.name
            )
