from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, Group, RatedGroup, Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.modules import moments
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.config import Updates
from handaxe.training.loop.update import mean_metrics, update
from handaxe.training.sft.supervised import as_rated


def groups(count, size=3):
    made = []
    for g in range(count):
        siblings = [make_trajectory(layouts=["UUt " + "p" * (1 + (g + i) % 4)]) for i in range(size)]
        made.append(as_rated(siblings))
    return made


def step(engine, loss, rated, *, learning_rate=0.1, **options):
    rng = np.random.default_rng(0)
    return update(engine, loss, rated, updates=Updates(**options), learning_rate=learning_rate, rng=rng)


def run(world, engine, rated, **options):
    return step(engine, world.reinforce, rated, **options).metrics


def test_epochs_times_minibatches_optimiser_steps(world):
    engine = world.make_engine()
    metrics = run(world, engine, groups(2), epochs=3, minibatches=2)
    assert engine.version == 6 and metrics["optimiser_steps"] == 6 and metrics["nothing_to_train"] == 0
    assert metrics["learning_rate"] == pytest.approx(0.1) and metrics["loss/adv_max"] == 1
    # reinforce counts its trained tokens: 1 2 3 | 2 3 4, halves of them a step on average
    assert metrics["loss/tokens"] == pytest.approx(7.5)


def test_each_minibatch_is_divided_by_its_own_tokens_and_every_rollout_is_seen_once(world):
    seen = []

    def loss(policy, batch):
        seen.append((batch.denominators.tokens, int(batch.mask_BT.sum()), batch.rollout_B.tolist()))
        return world.reinforce(policy, batch)

    step(world.make_engine(), loss, groups(2), minibatches=3, micro_batch_rows=1)
    assert sorted(r for _, _, rollouts in seen for r in rollouts) == [0, 1, 2, 3, 4, 5]
    assert [tokens for tokens, _, _ in seen[::2]] == [tokens for tokens, _, _ in seen[1::2]]
    for first, second in zip(seen[::2], seen[1::2]):
        assert first[0] == first[1] + second[1]


def test_micro_batches_add_up_to_the_whole(world):
    found = []
    for rows in (1, 2, 64):
        engine = world.make_engine(double=True)
        metrics = run(world, engine, groups(3), micro_batch_rows=rows, minibatches=2)
        found.append((metrics["loss"], world.weights(engine)))
    for loss, weights in found[1:]:
        assert loss == pytest.approx(found[0][0], abs=1e-9)
        for name, value in weights.items():
            torch.testing.assert_close(value, found[0][1][name], rtol=0, atol=1e-9)


def test_groups_of_a_lower_part_train_in_an_earlier_optimiser_step(world):
    """As two updates one after the other, each with denominators of its own and with all its epochs."""
    first, second = (replace(one, part=part) for one, part in zip(groups(2), (3, -1)))
    for epochs in (1, 2):
        together, apart = (world.make_engine(double=True) for _ in range(2))
        metrics = run(world, together, [first, second], epochs=epochs)
        for one in (second, first):
            run(world, apart, [one], epochs=epochs)
        assert together.version == metrics["optimiser_steps"] == 2 * epochs
        assert world.same(world.weights(together), world.weights(apart))
    engine = world.make_engine(double=True)
    run(world, engine, [replace(first, part=0), replace(second, part=0)])
    assert engine.version == 1


def test_a_part_in_which_nothing_trains_is_no_step(world):
    first, second = groups(2)
    nothing = tuple(tuple(np.zeros(len(s), bool) for s in t.sequences) for t in second.group)
    second = replace(second, part=1, advantages=replace(second.advantages, trains=nothing))
    engine = world.make_engine()
    assert run(world, engine, [first, second])["optimiser_steps"] == 1
    assert run(world, engine, [second])["nothing_to_train"] == 1


def test_nothing_to_train(world):
    engine, before = world.make_engine(), None
    before = world.weights(engine)
    rated = groups(2)
    for one in rated:
        one.trained[:] = False
    for nothing in (rated, []):
        assert run(world, engine, nothing) == {"nothing_to_train": 1.0, "optimiser_steps": 0.0}
    assert world.same(before, world.weights(engine)) and engine.version == 0


def test_metrics_of_steps_are_means_and_maxima():
    steps = [{"loss": 1.0, "ratio_max": 1.0}, {"loss": 2.0, "ratio_max": 3.0, "late": 5.0}]
    assert mean_metrics(steps) == {"loss": 1.5, "ratio_max": 3.0, "late": 5.0}


def test_a_lower_part_takes_all_its_steps_first_in_batches_of_its_own(world):
    """Four groups of two parts: two epochs of part 0, each over its own tokens alone, then two of part 2."""
    seen = []

    def loss(policy, batch):
        seen.append((batch.denominators.tokens, int(batch.mask_BT.sum())))
        return world.reinforce(policy, batch)

    rated = groups(4)  # 6, 9, 8 and 7 tokens
    rated = [replace(one, part=part) for one, part in zip(rated, (2, 0, 2, 0))]
    parted = world.make_engine()
    metrics = step(parted, loss, rated, epochs=2).metrics
    sizes = [sum(t.num_tokens for t in one.group) for one in rated]
    first, second = sizes[1] + sizes[3], sizes[0] + sizes[2]
    assert seen == [(first, first), (first, first), (second, second), (second, second)]
    assert metrics["optimiser_steps"] == 4 and parted.version == 4
    one_after_the_other = world.make_engine()
    run(world, one_after_the_other, [rated[1], rated[3]], epochs=2)
    run(world, one_after_the_other, [rated[0], rated[2]], epochs=2)
    assert world.same(world.weights(parted), world.weights(one_after_the_other))


def test_no_epoch_leaves_the_weights_alone(world):
    engine = world.make_engine()
    before = world.weights(engine)
    metrics = run(world, engine, groups(2), epochs=0)
    assert metrics == {"nothing_to_train": 0.0, "optimiser_steps": 0.0}
    assert engine.version == 0 and world.same(before, world.weights(engine))


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"minibatches": 0}, {"micro_batch_rows": 0}])
def test_updates_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="0 trains nothing, and 1 or more"):
        Updates(**wrong)


def test_early_stop_ends_the_step_and_later_epochs(world):
    engine, asked = world.make_engine(), []

    def stop(metrics):
        asked.append(metrics)
        return len(asked) == 3

    metrics = run(world, engine, groups(2), epochs=4, minibatches=2, early_stop=stop)
    assert engine.version == 3 and metrics["optimiser_steps"] == 3 and len(asked) == 3
    assert asked[0]["learning_rate"] == pytest.approx(0.1) and "loss/tokens" in asked[0]
    plain, bounded = (world.make_engine() for _ in range(2))
    never = run(world, bounded, groups(2), epochs=2, minibatches=2, early_stop=lambda metrics: False)
    assert never == run(world, plain, groups(2), epochs=2, minibatches=2)


def test_early_stop_ends_later_parts(world):
    engine = world.make_engine()
    parted = [replace(one, part=k) for k, one in enumerate(groups(2))]
    run(world, engine, parted, epochs=2, early_stop=lambda metrics: True)
    assert engine.version == 1


LAYOUTS = (["UUt pp tTt p"], ["UUt pp", "UUttTt p"], ["UUt p"], ["UUt ppp"])


def rated(name, advantages):
    siblings = [replace(make_trajectory(layouts=LAYOUTS[i]), id=f"{name}/{i}") for i in range(len(advantages))]
    tokens = tuple(tuple(np.where(s.mask, v, 0.0) for s in t.sequences) for v, t in zip(advantages, siblings))
    group = Group(siblings[0].task, tuple(siblings))
    return RatedGroup.of(group, Scores(np.array(advantages, float)), Advantages(tokens))


def positive(policy, batch):
    return LossOut(-(batch.adv_BT.clamp(min=0) * batch.mask_BT * policy.logp_BT).sum(), {})


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_moved_tokens_are_those_with_a_slope_in_any_minibatch_and_micro_batch(world, rows):
    """A loss that stops at advantages below 0."""
    groups = [rated("a", [1, -1, 0, 2]), rated("b", [-1, 1])]
    groups[0].trained[3] = False
    settings = {"epochs": 2, "minibatches": 2, "micro_batch_rows": rows, "learning_rate": 1e-9}
    moved = step(world.make_engine(), positive, groups, **settings).moved
    assert set(moved) == {"a/0", "a/1", "a/2", "b/0", "b/1"}
    for one in groups:
        for i, trajectory in enumerate(one.group):
            for s, sequence in enumerate(trajectory.sequences):
                if one.trained[i]:
                    wanted = sequence.mask & (one.advantages.tokens[i][s] > 0)
                    assert moved[trajectory.id][s].tolist() == wanted.tolist()


def test_no_token_is_moved_without_an_optimiser_step(world):
    assert step(world.make_engine(), positive, [rated("a", [1, -1])], epochs=0).moved == {}


def test_engine_that_does_not_tell_moved_tokens_marks_none(world):
    class Silent:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def forward_backward(self, batch, loss):
            return self.inner.forward_backward(batch, loss)._replace(moved_BT=None)

    moved = step(Silent(world.make_engine()), positive, [rated("a", [1, -1])]).moved
    assert not any(own_T.any() for own in moved.values() for own_T in own)


def value_and_policy(policy, batch):
    """Loss of the policy and of a critic whose target is 1."""
    masked = batch.mask_BT
    error = torch.where(masked, (policy.value_BT - 1).square(), 0.0).sum()
    return LossOut(error - torch.where(masked, policy.logp_BT, 0.0).sum(), {})


def trained_weights(engine):
    return {name: tensor.detach().clone() for name, tensor in engine._trained.items()}


def moved_names(engine, step, **options):
    before = trained_weights(engine)
    rng = np.random.default_rng(0)
    found = update(
        engine, value_and_policy, groups(2), updates=Updates(**options), learning_rate=0.1, rng=rng, step=step
    )
    return {name for name, tensor in trained_weights(engine).items() if not torch.equal(tensor, before[name])}, found


def test_only_the_critic_learns_in_its_warmup(world):
    engine = LocalEngine(world.make_engine().model, critic=True)
    moved, found = moved_names(engine, 1, critic_warmup=2, critic_rate=0.01)
    assert moved == {name for name in engine._trained if name.startswith("critic.")}
    assert not any(own_T.any() for arrays in found.moved.values() for own_T in arrays)
    assert found.metrics["learning_rate"] == 0
    # V is 0 and the target 1, so AdamW's first step moves the bias by its rate.
    assert engine._trained["critic.bias"].item() == pytest.approx(0.01, rel=1e-5)
    assert not any(name.startswith("weights.") for name in moments(engine._optimizer, engine._optimized))
    moved, found = moved_names(engine, 2, critic_warmup=2, critic_rate=0.01)
    assert moved > {"critic.weight"} and any(name.startswith("weights.") for name in moved)
    assert found.metrics["learning_rate"] == pytest.approx(0.1)


@pytest.mark.parametrize("options", [{"critic_warmup": -1}, {"critic_rate": 0.0}, {"critic_warmup": 1.5}])
def test_invalid_critic_settings_raise(options):
    with pytest.raises(InputError, match="critic"):
        Updates(**options)


def test_warmup_without_a_critic_raises(world):
    with pytest.raises(InputError, match="no critic"):
        step(world.make_engine(), world.reinforce, groups(1), critic_rate=0.1)
