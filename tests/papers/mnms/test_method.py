"""Constants of the method mnms, read by the tests of every method (tests/papers), and its rollout."""

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.methods.build import make_method, make_world


def test_the_limit_of_plans_holds_in_training_and_evaluation():
    chosen = parse_train("mnms", ["--most-plans", "1"], prog="handaxe train", also={"run": RunOptions})[0]
    method = make_method(chosen, make_world(chosen))
    assert method.evaluate_rollout is method.rollout
