import math

import numpy as np
import pytest

import handaxe.methods.activation as activation
from handaxe.core.errors import InputError
from handaxe.evaluation.acts import ActFigure, ActivationStep, SeenAct
from handaxe.evaluation.figures import RunFigures
from handaxe.methods.activation import measure_activation, seen_acts, update_angle
from handaxe.methods.paper import MethodPage
from handaxe.methods.run import run
from handaxe.methods.run_spec import run_template
from handaxe.training.loop.config import RunConfig

SMALL = {"steps": 3, "groups": 3, "group_size": 4, "held_out": 1, "max_turns": 2, "max_tokens": 16, "seed": 3}
MODULE = """
from dataclasses import replace

import numpy as np

from handaxe import credit, curricula
from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.losses import surrogates
from handaxe.rewards.weighted import weighted
from handaxe.training.loop.config import AsyncConfig


def graded(group):
    return Scores(np.array([one.sequences[0].ids.sum() % 7 for one in group], float))


def opposite(group):
    return Scores(-graded(group).outcome)


def doubled(rated):
    return [replace(one, advantages=scaled(one.advantages)) for one in rated]


def scaled(advantages):
    return replace(advantages, tokens=tuple(tuple(2 * x for x in own) for own in advantages.tokens))


def every_second(rated):
    return [replace(one, advantages=replace(one.advantages, trains=halves(one))) for one in rated]


def halves(one):
    return tuple(tuple(s.mask & (np.cumsum(s.mask) % 2 == 0) for s in t.sequences) for t in one.group)


def refuse(group):
    raise InputError("this reward reads a rubric, and the task has none")


class Counting:
    def learn(self, groups, *, step):
        return {"groups": len(groups)}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def start(base):
    return replace(base, reward=graded)


def same(base):
    return replace(base)


def negated(base):
    return replace(base, reward=opposite)


def scaled_twice(base):
    return replace(base, transform=doubled)


def masked(base):
    return replace(base, transform=every_second)


def wider(base, *, minibatches: int = 1):
    return replace(base, surrogate=surrogates.clip(eps_low=1e-4, eps_high=1e-4), minibatches=minibatches)


def split(base, *, minibatches: int = 4):
    return replace(base, reward=graded, minibatches=minibatches)


def refusing(base):
    return replace(base, reward=refuse)


def other_tasks(base):
    return replace(base, tasks=lambda tasks, seed: curricula.in_order(tasks[::-1], seed=seed, shuffle=False))


def still_stage(site):
    return []


def moving_stage(site):
    for value in site.engine.model.module.parameters():
        value.data.mul_(1.5)
    return []


def staged(base, *, moves: bool = True):
    return replace(base, stages=(moving_stage if moves else still_stage,))


def frozen(base):
    return replace(base, epochs=0)


def trained(base):
    return replace(base, reward=graded, epochs=1)


def watched(base):
    return replace(base, learners=(Counting(),))


def with_reference(base):
    return replace(base, reward=graded, annotate=("ref_logp", "value"))


def without_features(base):
    return replace(base, annotate=())


def stale(base):
    return replace(base, async_config=AsyncConfig(staleness=1, lockstep=True))


def in_lockstep(base):
    return replace(base, async_config=replace(base.async_config, lockstep=True))
"""


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Activation of a method of MODULE against a base of MODULE, in the gym."""
    (tmp_path / "acting.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def made(name, base="start", **changes):
        template = run_template(f"acting:{name}", base=f"acting:{base}", world="gym")
        return measure_activation(template.read({**SMALL, **changes}), steps=changes.get("steps", 3))

    return made


def angles(found):
    return [one.update_angle for one in found.steps]


def differences(found):
    return [one.batch_difference for one in found.steps]


@pytest.mark.slow
def test_method_equal_to_its_base_has_figures_of_exactly_0(measure):
    found = measure("same")
    assert found.steps == (ActivationStep(1, 0.0, 0.0), ActivationStep(2, 0.0, 0.0), ActivationStep(3, 0.0, 0.0))
    assert not found.acts and found.base == "acting:start"


@pytest.mark.slow
def test_negated_reward_has_an_angle_of_2_before_momentum_accumulates(measure):
    found = measure("negated")
    first, second, third = angles(found)
    assert first == pytest.approx(2, abs=1e-6) and 0.1 < second < 2 and 0.1 < third < 2
    assert min(differences(found)) > 0.8, "a group of equal rewards stays equal"


@pytest.mark.slow
def test_scaled_advantages_change_the_batch_and_not_the_update(measure):
    found = measure("scaled_twice", steps=1)
    assert angles(found)[0] < 1e-3 and differences(found) == [1]


@pytest.mark.slow
def test_mask_of_half_of_the_tokens_has_a_batch_difference_of_a_half(measure):
    found = measure("masked")
    assert differences(found) == pytest.approx([0.5, 0.5, 0.5], abs=0.05) and min(angles(found)) > 0


@pytest.mark.slow
def test_clip_acts_after_the_first_optimiser_step_only(measure):
    still = measure("wider")
    assert angles(still) == [0, 0, 0] and not still.acts
    acting = measure("wider", base="split", minibatches=4, learning_rate=0.01)
    assert min(angles(acting)) > 0 and differences(acting) == [0, 0, 0]


@pytest.mark.slow
def test_features_of_the_base_are_measured_for_it(measure):
    assert angles(measure("same", base="with_reference")) == [0, 0, 0]
    assert angles(measure("without_features", base="with_reference")) == [0, 0, 0]


def test_base_that_cannot_rate_the_groups_has_no_angle_and_a_reason(measure):
    found = measure("start", base="refusing", steps=1)
    assert math.isnan(found.steps[0].update_angle) and "reads a rubric" in found.steps[0].reason and found.acts


@pytest.mark.slow
def test_other_tasks_and_stages_that_move_the_policy_count_in_full(measure):
    assert differences(measure("other_tasks")) == [1, 1, 1]
    assert differences(measure("staged", steps=1)) == [1]
    assert differences(measure("staged", moves=False)) == [0, 0, 0]


@pytest.mark.slow
def test_tokens_older_than_the_base_allows_count(measure):
    first, second, _ = differences(measure("stale"))
    assert (first, second) == (0, 1), "groups of the second step are launched in the first"


@pytest.mark.slow
def test_learner_acts_beside_a_frozen_policy_only(measure):
    assert measure("watched", base="frozen").beside == ("learners",)
    assert measure("watched").beside == () and not measure("watched").acts


@pytest.mark.slow
def test_method_that_trains_differs_from_a_frozen_base_in_full(measure):
    found = measure("trained", base="frozen", steps=1)
    assert found.steps == (ActivationStep(1, 1.0, 1.0),)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["dapo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cispo", "ppo", "acting:stale"))]
)
def test_measurement_leaves_every_metric_of_the_run_unchanged(name, measure, monkeypatch):
    """In lockstep, since batches of other sizes round differently."""
    kept = []
    trained = activation.run_built
    monkeypatch.setattr(activation, "run_built", lambda *given: kept.append(trained(*given)))
    spec = run_template("acting:in_lockstep", base=name, world="gym").read({**SMALL, "max_tokens": 24})
    measure_activation(spec, steps=3)
    plain = run(spec, RunConfig(progress=False)).metrics
    drop = ("seconds/", "eval/")
    measured = [{key: x for key, x in row.items() if not key.startswith(drop)} for row in kept[0].metrics]
    expected = [{key: x for key, x in row.items() if not key.startswith(drop)} for row in plain]
    np.testing.assert_equal(measured, expected)
    assert any(row["optimiser_steps"] for row in plain)


def test_root_and_zero_steps_are_errors():
    with pytest.raises(InputError, match="no base"):
        measure_activation(run_template("grpo_no_kl").default(), steps=1)
    with pytest.raises(InputError, match="1 or more"):
        measure_activation(run_template("otc").default(), steps=0)


def test_update_angle_of_hand_worked_vectors():
    x, y, zero = np.array([1.0, 1.0]), np.array([1.0, -1.0]), np.zeros(2)
    assert [update_angle(x, one) for one in (x, y, zero)] == [0, 1, 1]
    assert update_angle(x, -2 * x) == pytest.approx(2) and update_angle(zero, zero) == 0
    assert update_angle(np.array([1.0, 0.0]), x) == pytest.approx(1 - 1 / math.sqrt(2))


def test_seen_acts_are_means_over_steps_and_runs():
    """Means over the steps: 0.1 and 0.3, so 0.2 over the runs."""
    page = MethodPage(name="mine", acts=(ActFigure(figure="training/x", at_least=0.5),))
    runs = [RunFigures([{"x": 0.0}, {"x": 0.2}], {}), RunFigures([{"x": 0.3}, {"x": math.nan}], {})]
    assert seen_acts(page, runs) == (SeenAct("training/x", 0.5, pytest.approx(0.2)),)
    assert seen_acts(page, [*runs, RunFigures([{"y": 1.0}], {})])[0].seen == pytest.approx(0.2)


def test_seen_acts_of_stages_are_means_over_rows_and_nan_without_a_step():
    page = MethodPage(name="mine", acts=(ActFigure(figure="stages/teach/lessons", at_least=2),))
    runs = [RunFigures([{}], {}, {"teach": [{"lessons": 1.0}, {"lessons": 5.0}]}), RunFigures([{}], {}, {"teach": []})]
    assert seen_acts(page, runs) == (SeenAct("stages/teach/lessons", 2, 3.0),)
    (still,) = seen_acts(page, runs[1:])
    assert still.obstacle == "the mechanism did not act (stages/teach/lessons nan, at least 2)"
    with pytest.raises(InputError, match="no row of the stage teach has the figure 'lessons'; its figures are loss"):
        seen_acts(page, [RunFigures([{}], {}, {"teach": [{"loss": 1.0}]})])


def test_figure_that_no_run_reports_is_an_error():
    page = MethodPage(name="mine", acts=(ActFigure(figure="training/x", at_least=0.5),))
    with pytest.raises(InputError, match="no run of mine has the figure of its act 'training/x'.*its figures are y"):
        seen_acts(page, [RunFigures([{"y": 1.0}], {})] * 2)
    with pytest.raises(InputError, match="give one run or more"):
        seen_acts(page, [])
