import pytest

from handaxe.core.errors import InputError
from handaxe.methods.build import build, load_vocab_size, make_method, make_world
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.methods.run_spec import NamedFactory, run_template
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel

SMALL = {"steps": 2, "groups": 3, "group_size": 4, "held_out": 4, "model": "tiny"}


def make_spec(name, *, base="", world="", **saved):
    return run_template(name, base=base, world=world).read({**SMALL, **saved})


@pytest.mark.parametrize(("name", "critic", "reference"), [("grpo_no_kl", 0, 0), ("grpo", 0, 1), ("ppo", 1, 0)])
def test_annotations_decide_critic_and_reference(name, critic, reference):
    engine = build(make_spec(name))["engine"]
    assert (engine._critic is not None, engine._reference is not None) == (bool(critic), bool(reference))


def test_settings_and_options_reach_their_parts():
    made = build(make_spec("verltool", learning_rate=0.5, max_tokens=7, wait=0.25, seed=3, **{"engine.max_rows": 5}))
    assert (made["learning_rate"], made["sampling"].max_tokens, made["engine"].max_rows) == (0.5, 7, 5)
    assert type(made["env"](made["tasks"].next(0, 1)[0])).__name__ == "_Slow"
    held_out = made["run"].evaluation.evaluate
    assert isinstance(held_out, HeldOutEvaluator) and len(held_out.tasks) == 4 and held_out.sampling.max_tokens == 7
    assert type(held_out.env(held_out.tasks[0])).__name__ != "_Slow"


def test_limit_of_images_is_in_the_environments_of_training_and_of_evaluations():
    made = build(make_spec("grpo_no_kl", max_images=2))
    held_out = made["run"].evaluation.evaluate
    for env, task in ((made["env"], made["tasks"].next(0, 1)[0]), (held_out.env, held_out.tasks[0])):
        assert type(env(task)).__name__ == "_Limited" and env(task).most == 2
    assert type(build(make_spec("grpo_no_kl"))["env"](task)).__name__ != "_Limited"


def test_seed_changes_draws_of_evaluations_and_keeps_tasks():
    """Evaluations of the untrained policy then differ between seeds, so that comparisons with it do not share noise."""
    one, other = (build(make_spec("grpo_no_kl", seed=seed))["run"].evaluation.evaluate for seed in (3, 4))
    assert [task.id for task in one.tasks] == [task.id for task in other.tasks]
    assert (one.seed, other.seed) == (3, 4)


@pytest.mark.parametrize(
    ("tools", "offered"),
    [(None, ["calculator"]), ((), []), (("compute", "handaxe.tools.calculator:calculator"), ["compute", "calculator"])],
)
def test_offered_tools_are_of_the_world_named_or_none(tools, offered):
    made = build(make_spec("grpo_no_kl", tools=tools))
    env = made["env"](made["tasks"].next(0, 1)[0])
    assert [schema.name for schema in env.start()[1]] == offered
    env.close()


def test_policy_argument_replaces_the_model():
    policy = load("tiny")
    assert build(make_spec("grpo_no_kl", model="nowhere"), policy=policy)["engine"].model is policy.model


def test_vocabulary_size_is_that_of_the_policy(tmp_path):
    TinyModel.new(TinyConfig(300, width=8, layers=1, heads=1)).save(tmp_path)
    assert [load_vocab_size(model) for model in ("tiny", "start", str(tmp_path))] == [264, 264, 300]


def test_chain_of_bases_is_applied_from_the_root():
    made = make_spec("retool")
    method = make_method(made, make_world(made))
    assert method.annotate == ("value",) and method.minibatches == 2 and method.transform is not None
    otc = make_spec("otc", base="dapo", **{"base.rounds": 7})
    method = make_method(otc, make_world(otc))
    assert method.async_config.rounds == 7 and method.terms == () and "fewer_calls" in type(method.reward).__module__


def test_world_without_a_part_that_the_method_needs_raises():
    with pytest.raises(InputError, match="world 'gym' has no 'reference'"):
        build(make_spec("toolrl", world="gym"))


def test_wrong_world_factory_and_engine_without_critic_raise():
    made = make_spec("ppo")
    number = made.template.__class__(
        made.template.method, made.template.page, made.template.base, NamedFactory("n", int), made.template.engine
    )
    with pytest.raises(InputError, match="world n returns int and not a World"):
        make_world(made.__class__(number, made.settings, {**made.options, "world": {}}))

    def bare(model):
        return model

    engine = made.template.__class__(*list(vars(made.template).values())[:4], NamedFactory("bare", bare))
    with pytest.raises(InputError, match="engine bare has no critic, which method ppo needs"):
        build(made.__class__(engine, made.settings, {**made.options, "engine": {}}))


def test_change_that_returns_no_method_raises():
    made = make_spec("otc")
    wrong = made.template.__class__(
        made.template.method._replace(make=lambda base: 3), *list(vars(made.template).values())[1:]
    )
    with pytest.raises(InputError, match="method otc returns int and not a Method"):
        make_method(made.__class__(wrong, made.settings, {**made.options, "": {}}), make_world(made))


@pytest.mark.parametrize(
    ("made", "option"),
    [
        (lambda: make_spec("otc", smooth=-1.0), "--smooth"),
        (lambda: make_spec("grpo", base="otc", **{"base.smooth": -1.0}), "--base.smooth"),
    ],
)
def test_error_of_a_mechanism_names_the_flag(made, option):
    with pytest.raises(InputError, match=f"^{option}: fewer_calls has smooth=-1"):
        build(made())
