"""Makes the keyword arguments of `train` out of what was spec."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss
from handaxe.core.records import Sampling
from handaxe.curricula.in_order import in_order
from handaxe.envs.slow import slow
from handaxe.losses.policy import policy as policy_loss
from handaxe.methods.aux_policies import speakers
from handaxe.methods.evaluator import HeldOut
from handaxe.methods.hardware import HERE, Machines, make_engine
from handaxe.methods.limits import flag
from handaxe.methods.lookup import tools_named
from handaxe.methods.method import Method, RunSettings
from handaxe.methods.options import options_of
from handaxe.methods.run_spec import NamedFactory, RunSpec, is_root, own_base
from handaxe.models.load import Policy, load, stand_in
from handaxe.rewards.shuffled import shuffled
from handaxe.training.loop.siblings import check_siblings
from handaxe.training.sft.cold_start import start_policy
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
    spec: RunSpec,
    *,
    policy: Policy | None = None,
    method: Method | None = None,
    progress: bool = False,
    machines: Machines = HERE,
) -> dict[str, Any]:
    """The keyword arguments of `train`; its `keep` is missing.

    Args:
        spec: method, base, world, engine, settings and their options.
        policy: takes the place of what `RunSettings.model` names.
        method: takes the place of one that is made anew, where something else holds parts of it, such as its stages.
        progress: whether a bar is shown while the world's start is made, which is done once.
        machines: where it computes. The caller has to close the engine (`methods.hardware.closing_engine`).

    Raises:
        InputError: something named is not there, or does not fit.
    """
    machines.check()
    settings, world = spec.settings, make_world(spec)
    tools = offered_tools(settings, world)
    env, method = world.env(tools), method or make_method(spec, world)
    if method.epochs:
        check_siblings(settings.group_size, credit=method.credit, shape=method.shape, rollout=method.rollout)
    held_out, train = world.tasks("test", settings.held_out, 0), world.tasks("train", TRAIN, settings.seed)
    others = speakers(settings.aux_policies, max_tokens=settings.max_tokens)
    load = _loads(settings) if machines and policy is None else None
    loaded = policy or (_loaded(settings, world, tools, progress) if load is None else stand_in(settings.model))
    plain = Sampling(max_tokens=settings.max_tokens)
    return {
        "engine": _engine(spec, loaded, method, machines, load),
        "format": loaded.format,
        "env": slow(env, median=settings.wait, sigma=settings.wait_sigma) if settings.wait else env,
        "tasks": in_order(train, seed=settings.seed) if method.tasks is None else method.tasks(train, settings.seed),
        "rollout": method.rollout,
        "reward": shuffled(method.reward, seed=settings.seed) if settings.permute_rewards else method.reward,
        "credit": method.credit,
        "loss": loss_of(method),
        "select": method.select,
        "shape": method.shape,
        "learners": method.learners,
        "sampling": plain if method.sampling is None else method.sampling,
        "steps": settings.steps,
        "groups": settings.groups,
        "group_size": settings.group_size,
        "learning_rate": settings.learning_rate,
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
            rollout=method.evaluate_rollout or world.plays(settings.max_turns),
            sampling=plain,
            samples=settings.samples,
            seed=settings.seed,
            others=others,
        ),
        "eval_every": settings.eval_every or SELDOM,
        "seed": settings.seed,
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


def make_world(spec: RunSpec) -> World:
    """The world, with its options."""
    return made_world(spec.template.world, spec.options["world"])


def made_world(made: NamedFactory, options: Mapping[str, Any]) -> World:
    """What a world's function returns for these options. Raises InputError where that is something else."""
    found = made.make(**options)
    if not isinstance(found, World):
        raise InputError(f"world {made.name} returns {type(found).__name__} and not a World")
    return found


def make_method(spec: RunSpec, world: World) -> Method:
    """The recipe's change of its base's change ... of `plain`, each with its options.

    Raises:
        InputError: one of them returns something else than a Method.
    """
    template, settings = spec.template, spec.settings
    if template.base is None:
        return _changed(template.method, spec.options[""], world, settings)
    base = _with_bases(template.base, spec.options["base"], world, settings)
    return _changed(template.method, spec.options[""], base)


def _loaded(settings: RunSettings, world: World, tools: Sequence[Any], progress: bool) -> Policy:
    if settings.model == START:
        if settings.lora:
            raise InputError("--model start is a tiny policy, which takes no adapter: leave --lora out")
        return start_policy(world, tools=tools, progress=progress)
    return load(settings.model, lora=settings.lora)


def _loads(settings: RunSettings) -> Callable[[], Policy] | None:
    """What loads a model elsewhere, for which this process needs its chat format alone; None for one made here."""
    return None if settings.model == START else partial(load, settings.model, lora=settings.lora)


def offered_tools(settings: RunSettings, world: World) -> Sequence[Any]:
    """The tools that the settings names, those of the world where it names none."""
    return world.tools if settings.tools is None else tools_named(settings.tools)


def _with_bases(made: NamedFactory, options: Mapping[str, Any], world: World, settings: RunSettings) -> Method:
    if is_root(made.make):
        return _changed(made, options, world, settings, prefix="base.")
    return _changed(made, options, _with_bases(own_base(made), {}, world, settings), prefix="base.")


def _changed(made: NamedFactory, options: Mapping[str, Any], *given: Any, prefix: str = "") -> Method:
    try:
        found = made.make(*given, **options)
    except InputError as error:  # of a mechanism, in the words of its arguments
        named = [flag(f"{prefix}{name}") for name in options if re.search(rf"\b{name}\b", str(error))]
        if not named:
            raise
        raise InputError(f"{' and '.join(named)}: {error}") from error
    if not isinstance(found, Method):
        raise InputError(f"method {made.name} returns {type(found).__name__} and not a Method")
    return found


def _engine(
    spec: RunSpec, loaded: Policy, method: Method, machines: Machines, load: Callable[[], Policy] | None
) -> Engine:
    """The engine, with a critic or a reference model where a feature needs it."""
    made = spec.template.engine
    takes = {one.name for one in options_of(made.make)}
    needs = {"critic": "value" in method.annotate, "reference": "ref_logp" in method.annotate}
    if lacking := [name for name, needed in needs.items() if needed and name not in takes]:
        raise InputError(f"engine {made.name} has no {' and no '.join(lacking)}, which method {spec.name} needs")
    given = {name: needed for name, needed in needs.items() if name in takes}
    return make_engine(made.make, loaded.model, machines, {**spec.options["engine"], **given}, load=load)
