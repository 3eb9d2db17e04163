import pytest

from handaxe.core.errors import InputError
from handaxe.methods.method import RunSettings
from handaxe.methods.run import run
from handaxe.methods.run_spec import run_template
from handaxe.methods.run_stop import check_stop, run_stop
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.stopping import Condition, RunStop
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.routing.world import routing

WORLD = arithmetic()


def settings(*conditions, **more):
    return RunSettings(**{"stop_when": conditions, "eval_every": 2} | more)


def test_conditions_and_patience_make_a_rule():
    assert run_stop(RunSettings(), WORLD) is None
    assert run_stop(settings("pass@4>=0.9", samples=4), WORLD) == RunStop(conditions=(Condition("pass@4", ">=", 0.9),))
    assert run_stop(settings(patience=3), WORLD) == RunStop(patience=3)


@pytest.mark.parametrize("name", ["pass@1", "calls", "tokens", "tool_productivity", "endings/completed"])
def test_metrics_of_evaluations_are_known(name):
    assert run_stop(settings(f"{name}>0"), WORLD) is not None


def test_metrics_of_the_world_are_known():
    world = routing()
    names = [*world.gauges, *world.statistics]
    assert names and run_stop(settings(*(f"{name}>0" for name in names)), world) is not None
    with pytest.raises(InputError, match="evaluations have no metric"):
        run_stop(settings(f"{names[0]}>0"), WORLD)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (settings("pas@1>0"), "--stop-when: evaluations have no metric 'pas@1'; did you mean pass@1"),
        (settings("pass@4>0"), "have no metric 'pass@4'; did you mean pass@1"),
        (settings("reward/all>0"), "evaluations have no metric 'reward/all'"),
    ],
)
def test_unknown_metric_of_evaluations_raises(given, message):
    check_stop(given)
    with pytest.raises(InputError, match=message):
        run_stop(given, WORLD)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (settings("training/rewart>0"), "training steps have no metric 'training/rewart'; did you mean"),
        (settings("pass@1>0", eval_every=0), "--stop-when needs evaluations between steps: add --eval-every N"),
        (settings(patience=1, eval_every=0), "--patience needs evaluations between steps: add --eval-every N"),
        (settings("pass@1=>0"), "is no condition"),
    ],
)
def test_faults_are_found_without_a_world(given, message):
    with pytest.raises(InputError, match=message):
        check_stop(given)
    check_stop(settings("training/loss/approx_kl>0", eval_every=0))


def test_method_with_closing_stages_refuses_an_early_end():
    small = {"steps": 2, "groups": 2, "group_size": 2, "held_out": 2, "eval_every": 1, "model": "tiny"}
    spec = run_template("longvt").read({**small, "patience": 1})
    with pytest.raises(InputError, match="--stop-when and --patience end a run before its last step"):
        run(spec, RunConfig(progress=False))
