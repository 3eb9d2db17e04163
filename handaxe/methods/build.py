"""Makes the keyword arguments of `train` out of what was chosen."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from handaxe.envs.slow import slow
from handaxe.errors import InputError
from handaxe.losses.policy import policy as policy_loss
from handaxe.methods.chosen import Chosen, Named, is_root, recipe_of
from handaxe.methods.held_out import HeldOut
from handaxe.methods.machines import HERE, Machines, make_engine
from handaxe.methods.method import Method, Setting
from handaxe.methods.names import find, tools_named
from handaxe.methods.options import options_of
from handaxe.methods.others import speakers
from handaxe.methods.ranges import flag
from handaxe.models.load import Policy, load, stand_in
from handaxe.records import Sampling
from handaxe.rewards.shuffled import shuffled
from handaxe.selection.in_order import in_order
from handaxe.slots import Engine, Loss
from handaxe.training.cold_start import start_policy
from handaxe.training.siblings import check_siblings
from handaxe.worlds.world import World

__all__ = ["build", "loss_of", "made_world", "make_method", "make_world", "offered_tools"]

TRAIN = 4096
"""Tasks that a run trains on."""
ROWS = 16
"""Rows of a micro-batch: what a small machine holds of a model of 135M parameters."""
START = "start"
SELDOM = 1_000_000
"""Steps between evaluations where only the first and the last are wanted."""


def build(
    chosen: Chosen,
    *,
    policy: Policy | None = None,
    method: Method | None = None,
    progress: bool = False,
    machines: Machines = HERE,
) -> dict[str, Any]:
    """The keyword arguments of `train`; its `keep` is missing.

    Args:
        chosen: recipe, base, world, engine, setting and their options.
        policy: takes the place of what `Setting.model` names.
        method: takes the place of one that is made anew, where something else holds parts of it, such as its stages.
        progress: whether a bar is shown while the world's start is made, which is done once.
        machines: where it computes. The caller has to close the engine (`methods.machines.closing_engine`).

    Raises:
        InputError: something named is not there, or does not fit.
    """
    machines.check()
    setting, world = chosen.setting, make_world(chosen)
    tools = offered_tools(setting, world)
    env, method = world.env(tools), method or make_method(chosen, world)
    if method.epochs:
        check_siblings(setting.group_size, credit=method.credit, shape=method.shape, rollout=method.rollout)
    held_out, train = world.tasks("test", setting.held_out, 0), world.tasks("train", TRAIN, setting.seed)
    others = speakers(setting.others, max_tokens=setting.max_tokens)
    load = _loads(setting) if machines and policy is None else None
    loaded = policy or (_loaded(setting, world, tools, progress) if load is None else stand_in(setting.model))
    plain = Sampling(max_tokens=setting.max_tokens)
    return {
        "engine": _engine(chosen, loaded, method, machines, load),
        "format": loaded.format,
        "env": slow(env, median=setting.wait, sigma=setting.wait_sigma) if setting.wait else env,
        "tasks": in_order(train, seed=setting.seed) if method.tasks is None else method.tasks(train, setting.seed),
        "rollout": method.rollout,
        "reward": shuffled(method.reward, seed=setting.seed) if setting.shuffled else method.reward,
        "credit": method.credit,
        "loss": loss_of(method),
        "select": method.select,
        "shape": method.shape,
        "learners": method.learners,
        "sampling": plain if method.sampling is None else method.sampling,
        "steps": setting.steps,
        "groups": setting.groups,
        "group_size": setting.group_size,
        "learning_rate": setting.learning_rate,
        "epochs": method.epochs,
        "minibatches": method.minibatches,
        "enough": method.enough,
        "micro_batch_rows": ROWS,
        "annotate": method.annotate,
        "evaluate": HeldOut(
            world=world,
            tasks=held_out,
            env=env,
            format=loaded.format,
            rollout=method.evaluate_rollout or world.plays(setting.max_turns),
            sampling=plain,
            samples=setting.samples,
            seed=setting.seed,
            others=others,
        ),
        "eval_every": setting.eval_every or SELDOM,
        "seed": setting.seed,
        "pace": method.pace,
        "others": others,
    }


def loss_of(method: Method) -> Loss:
    """The loss that its pieces make."""
    return policy_loss(
        ratio=method.ratio,
        surrogate=method.surrogate,
        reduction=method.reduction,
        correction=method.correction,
        adjustments=method.adjustments,
        terms=method.terms,
    )


def make_world(chosen: Chosen) -> World:
    """The world, with its options."""
    return made_world(chosen.choice.world, chosen.options["world"])


def made_world(made: Named, options: Mapping[str, Any]) -> World:
    """What a world's function returns for these options. Raises InputError where that is something else."""
    found = made.make(**options)
    if not isinstance(found, World):
        raise InputError(f"world {made.name} returns {type(found).__name__} and not a World")
    return found


def make_method(chosen: Chosen, world: World) -> Method:
    """The recipe's change of its base's change ... of `plain`, each with its options.

    Raises:
        InputError: one of them returns something else than a Method.
    """
    choice, setting = chosen.choice, chosen.setting
    if choice.base is None:
        return _changed(choice.recipe, chosen.options[""], world, setting)
    base = _with_bases(choice.base, chosen.options["base"], world, setting)
    return _changed(choice.recipe, chosen.options[""], base)


def _loaded(setting: Setting, world: World, tools: Sequence[Any], progress: bool) -> Policy:
    if setting.model == START:
        if setting.lora:
            raise InputError("--model start is a tiny policy, which takes no adapter: leave --lora out")
        return start_policy(world, tools=tools, progress=progress)
    return load(setting.model, lora=setting.lora)


def _loads(setting: Setting) -> Callable[[], Policy] | None:
    """What loads a model elsewhere, for which this process needs its chat format alone; None for one made here."""
    return None if setting.model == START else partial(load, setting.model, lora=setting.lora)


def offered_tools(setting: Setting, world: World) -> Sequence[Any]:
    """The tools that the setting names, those of the world where it names none."""
    return world.tools if setting.tools is None else tools_named(setting.tools)


def _with_bases(made: Named, options: Mapping[str, Any], world: World, setting: Setting) -> Method:
    if is_root(made.make):
        return _changed(made, options, world, setting, prefix="base.")
    under = recipe_of(made.make).base or find("recipes", "plain")
    return _changed(made, options, _with_bases(Named("", under), {}, world, setting), prefix="base.")


def _changed(made: Named, options: Mapping[str, Any], *given: Any, prefix: str = "") -> Method:
    try:
        found = made.make(*given, **options)
    except InputError as error:  # of a mechanism, in the words of its arguments
        named = [flag(f"{prefix}{name}") for name in options if re.search(rf"\b{name}\b", str(error))]
        if not named:
            raise
        raise InputError(f"{' and '.join(named)}: {error}") from error
    if not isinstance(found, Method):
        raise InputError(f"recipe {made.name} returns {type(found).__name__} and not a Method")
    return found


def _engine(
    chosen: Chosen, loaded: Policy, method: Method, machines: Machines, load: Callable[[], Policy] | None
) -> Engine:
    """The engine, with a critic or a reference model where a feature needs it."""
    made = chosen.choice.engine
    takes = {one.name for one in options_of(made.make)}
    needs = {"critic": "value" in method.annotate, "reference": "ref_logp" in method.annotate}
    if lacking := [name for name, needed in needs.items() if needed and name not in takes]:
        raise InputError(f"engine {made.name} has no {' and no '.join(lacking)}, which recipe {chosen.name} needs")
    given = {name: needed for name, needed in needs.items() if name in takes}
    return make_engine(made.make, loaded.model, machines, {**chosen.options["engine"], **given}, load=load)
