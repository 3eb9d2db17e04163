"""Builds the keyword arguments of `train` from a `RunSpec`."""

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Loss
from handaxe.core.records import Sampling
from handaxe.envs.limited_images import limited_images
from handaxe.envs.slow import slow
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy as policy_loss
from handaxe.methods.aux_policies import TRAINED, aux_sources, load_aux_policies
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.methods.flags import flag, list_options
from handaxe.methods.hardware import THIS_PROCESS, Machines, make_engine
from handaxe.methods.lookup import find_tools
from handaxe.methods.method import Method, RunSettings, replace
from handaxe.methods.named_curriculum import check_curriculum, make_curriculum
from handaxe.methods.named_mixture import replace_paths
from handaxe.methods.run_spec import NamedFactory, RunSpec, default_base, is_root
from handaxe.methods.run_stop import check_closing, run_stop
from handaxe.models.load import TINY, Policy, check_options, dummy_policy, load
from handaxe.rewards.permuted import permuted
from handaxe.training.loop.aux_trainer import AuxTrainer
from handaxe.training.loop.config import PeriodicEvaluation, RunConfig, Updates
from handaxe.training.loop.schedule import make_schedule
from handaxe.training.loop.siblings import check_siblings
from handaxe.training.sft.cold_start import extend_to_start_context, start_policy
from handaxe.worlds.world import World

__all__ = [
    "build",
    "check_run",
    "create_world",
    "load_vocab_size",
    "make_loss",
    "make_method",
    "make_updates",
    "make_world",
    "missing_tools",
    "offered_tools",
]

TRAIN = 4096
"""Number of training tasks of a run."""
ROWS = 16
"""Rows of a micro-batch; fits a model of 135M parameters on a small machine."""
START = "start"
SELDOM = 1_000_000
"""Steps between evaluations if a run evaluates only before its first and after its last step."""


def build(
    spec: RunSpec,
    *,
    policy: Policy | None = None,
    method: Method | None = None,
    progress: bool = False,
    machines: Machines = THIS_PROCESS,
) -> dict[str, Any]:
    """Make the keyword arguments of `train`; `run` names no folder yet.

    Args:
        spec: method, base, world, engine, settings and their options.
        policy: replaces the model of `RunSettings.model`.
        method: replaces the method of the spec, and its world that of the spec. Pass it if other code holds parts of
            the same method, such as stages.
        progress: show a progress bar while the cold-start checkpoint of the world is trained, once.
        machines: processes that compute. The caller closes the engine (`methods.hardware.closing_engine`).

    Raises:
        InputError: a named object does not exist, or an option does not fit.
    """
    machines.check()
    settings = spec.settings
    world = make_world(spec) if method is None else method.world
    stop = run_stop(settings, world)
    tools = offered_tools(settings, world)
    env = world.env(_served(settings, tools))
    method = method or make_method(spec, world)
    if settings.max_images:
        env = limited_images(env, most=settings.max_images)
    if method.epochs:
        check_siblings(settings.group_size, credit=method.credit, transform=method.transform, rollout=method.rollout)
    held_out, train = world.tasks("test", settings.held_out, 0), world.tasks("train", TRAIN, settings.seed)
    load = _remote_loader(settings) if machines and policy is None else None
    policy = policy or _load_policy(settings, world, tools, progress, weights=load is None)
    if settings.model == START:  # of a replay, `policy` is a dummy
        policy = extend_to_start_context(policy, world)
    sampling, sources = Sampling(max_tokens=settings.max_tokens), _sources(method, settings, world)
    engine = _engine(spec, policy, method, machines, load)
    method.judge.bind(engine, policy.format)
    aux_policies = load_aux_policies(
        sources,
        engine=engine,
        format=policy.format,
        max_tokens=settings.max_tokens,
        learners=method.learners,
    )
    evaluate = HeldOutEvaluator(
        world=world,
        tasks=held_out,
        env=env,
        format=policy.format,
        rollout=method.evaluate_rollout or world.make_rollout(settings.max_turns),
        sampling=sampling,
        samples=settings.samples,
        seed=settings.seed,
        aux_policies=aux_policies,
    )
    return {
        "engine": engine,
        "format": policy.format,
        "env": slow(env, median=settings.wait, sigma=settings.wait_sigma) if settings.wait else env,
        "tasks": make_curriculum(spec, method, world, train),
        "rollout": method.rollout,
        "reward": permuted(method.reward, seed=settings.seed) if settings.permute_rewards else method.reward,
        "credit": method.credit,
        "loss": make_loss(method),
        "select": method.select,
        "transform": method.transform,
        "learners": method.learners,
        "sampling": sampling if method.sampling is None else method.sampling,
        "steps": settings.steps,
        "groups": settings.groups,
        "group_size": settings.group_size,
        "learning_rate": _learning_rate(settings),
        "seed": settings.seed,
        "updates": make_updates(method),
        "async_config": method.async_config,
        "run": RunConfig(
            evaluation=PeriodicEvaluation(evaluate=evaluate, every=settings.eval_every or SELDOM),
            stop=stop,
            aux_policies=aux_policies,
        ),
    }


def check_run(spec: RunSpec, *, machines: Machines = THIS_PROCESS) -> None:
    """Raise the errors of `build` that need neither engine nor weights, before torch is imported.

    Makes world, tools, environment factory and method, and no task. Options of the engine are not read.

    Raises:
        InputError: a named object does not exist, or an option does not fit.
    """
    settings, world = spec.settings, make_world(spec)
    run_stop(settings, world)
    world.env(_served(settings, offered_tools(settings, world)))
    if settings.model == START:
        _check_start(settings)
    else:
        check_options(settings.model, **_load_options(settings))
    if machines:
        _remote_loader(settings)
    method = make_method(spec, world)
    _sources(method, settings, world)
    check_curriculum(spec, method)
    check_closing(settings, method)
    if method.epochs:
        check_siblings(settings.group_size, credit=method.credit, transform=method.transform, rollout=method.rollout)


def _check_start(settings: RunSettings) -> None:
    if settings.lora:
        raise InputError("--model start is a tiny policy without adapters: leave --lora out")
    if settings.dtype not in ("auto", "float32") or settings.quantize != "none":
        raise InputError("--model start is a tiny policy of float32 weights: leave --dtype and --quantize out")
    if settings.vision != "auto" or settings.lora_vision:
        raise InputError("--model start trains all weights of the world's policy: leave --vision and --lora-vision out")
    if settings.max_pixels:
        raise InputError("--model start is a tiny policy, which reads images in their own size: leave --max-pixels out")


def make_updates(method: Method) -> Updates:
    """Settings of a method's optimiser steps."""
    return Updates(
        epochs=method.epochs,
        minibatches=method.minibatches,
        micro_batch_rows=ROWS,
        early_stop=method.early_stop,
        critic_warmup=method.critic_warmup,
        critic_rate=method.critic_rate,
        annotate=method.annotate,
    )


def make_loss(method: Method) -> Loss:
    """The policy loss built from the pieces of a method."""
    return policy_loss(
        ratio=method.ratio,
        surrogate=method.surrogate,
        reduction=method.reduction,
        correction=method.correction,
        adjustments=method.adjustments,
        terms=method.terms,
    )


def make_world(spec: RunSpec) -> World:
    """Make the world of a run."""
    return create_world(spec.template.world, replace_paths(spec.options["world"], spec.files))


def create_world(factory: NamedFactory, options: Mapping[str, Any]) -> World:
    """Call the factory of a world with options. Raises InputError if the result is no World."""
    found = factory.make(**options)
    if not isinstance(found, World):
        raise InputError(f"world {factory.name} returns {type(found).__name__} and not a World")
    return found


def make_method(spec: RunSpec, world: World) -> Method:
    """Apply the chain of changes from the root method to the method of the spec, each with the options of the spec.

    Raises:
        InputError: a change does not return a Method.
    """
    template, settings = spec.template, spec.settings
    if template.base is None:
        return _apply_change(template.method, spec.options[""], world, settings)
    base = _chain_of_bases(template.base, spec.options["base"], world, settings)
    made = _apply_change(template.method, spec.options[""], base)
    learners = (*made.learners, *made.judge.learners, *_trainers(made, world))
    return replace(made, stages=(*made.judge.stages, *made.stages), learners=learners)


def _sources(method: Method, settings: RunSettings, world: World) -> dict[str, str]:
    """Sources of the auxiliary policies that settings and method name."""
    return aux_sources(settings.aux_policies, roles=method.aux_policies, playable=world.roles, world=world.name)


def _trainers(method: Method, world: World) -> tuple[AuxTrainer, ...]:
    """Learners of the roles that train: each by the credit, loss, updates and learning rate of the policy."""
    settings = method.settings
    return tuple(
        AuxTrainer(
            role,
            credit=method.credit,
            loss=make_loss(method),
            learning_rate=_learning_rate(settings),
            updates=make_updates(method),
            seed=settings.seed,
        )
        for role, source in _sources(method, settings, world).items()
        if source == TRAINED
    )


def _learning_rate(settings: RunSettings) -> float | Callable[[int], float]:
    return make_schedule(settings.schedule, settings.learning_rate, steps=settings.steps, warmup_steps=settings.warmup)


def _load_policy(
    settings: RunSettings, world: World, tools: Sequence[Any], progress: bool, *, weights: bool = True
) -> Policy:
    """Load the policy of the settings; without weights, its chat format beside a dummy model."""
    if not weights:
        return dummy_policy(settings.model, max_pixels=settings.max_pixels)
    if settings.model == START:
        _check_start(settings)
        return start_policy(world, tools=tools, progress=progress)
    return load(settings.model, **_load_options(settings))


def _load_options(settings: RunSettings) -> dict[str, Any]:
    """Arguments of `load` from the settings."""
    return {
        "lora": settings.lora,
        "dtype": None if settings.dtype == "auto" else settings.dtype,
        "quantize": None if settings.quantize == "none" else settings.quantize,
        "vision": None if settings.vision == "auto" else settings.vision,
        "lora_vision": settings.lora_vision,
        "max_pixels": settings.max_pixels,
    }


def load_vocab_size(model: str) -> int:
    """Number of token ids of a model of `RunSettings.model`. Reads no weights."""
    return dummy_policy(TINY if model == START else model).model.vocab_size


def _remote_loader(settings: RunSettings) -> Callable[[], Policy] | None:
    """Loader of the model for another process; None for a cold-start checkpoint.

    This process then needs only the chat format of the model. Cold-start checkpoints are always made here.
    """
    if settings.model == START:
        return None
    if settings.quantize != "none" or (settings.dtype == "bfloat16" and not settings.lora):
        given = "--quantize" if settings.quantize != "none" else "--dtype bfloat16 without --lora"
        raise InputError(f"{given} is for this process alone: leave --trainers and --servers out")
    return partial(load, settings.model, **_load_options(settings))


def offered_tools(settings: RunSettings, world: World) -> Sequence[Any]:
    """The tools named by the settings; by default the tools of the world."""
    return world.tools if settings.tools is None else find_tools(settings.tools)


def _served(settings: RunSettings, tools: Sequence[Any]) -> Sequence[Any]:
    """Give the tools of the environment: with `tool_server`, a factory of tools in one server process."""
    if not settings.tool_server:
        return tools
    module = importlib.import_module("handaxe.tools.tool_server")  # on use: needs packages of its own
    given = settings.tools or [""] * len(tools)
    names = [path if ":" in path else module.tool_name(tool) for path, tool in zip(given, tools)]
    return [module.ToolServer(names)]


def missing_tools(names: Sequence[str] | None, world: World) -> str:
    """Return a warning for a world whose environments offer named tools alone, without a name; "" otherwise.

    Args:
        names: of `RunSettings.tools`; None for the tools of the world.
        world: such as jsonl, without tools.
    """
    if names is not None or world.tools or world.env is not tool_chat:
        return ""
    return (
        f"world {world.name} has no tools, and none are named: the policy answers without tools. Name them, --tools "
        "MODULE:ATTRIBUTE, or --tools none"
    )


def _chain_of_bases(factory: NamedFactory, options: Mapping[str, Any], world: World, settings: RunSettings) -> Method:
    if is_root(factory.make):
        return _apply_change(factory, options, world, settings, prefix="base.")
    return _apply_change(factory, options, _chain_of_bases(default_base(factory), {}, world, settings), prefix="base.")


def _apply_change(factory: NamedFactory, options: Mapping[str, Any], *given: Any, prefix: str = "") -> Method:
    try:
        found = factory.make(*given, **options)
    except InputError as error:  # a mechanism names its own arguments; the message must name command-line flags
        named = [flag(f"{prefix}{name}") for name in options if re.search(rf"\b{name}\b", str(error))]
        if not named:
            raise
        raise InputError(f"{' and '.join(named)}: {error}") from error
    if not isinstance(found, Method):
        raise InputError(f"method {factory.name} returns {type(found).__name__} and not a Method")
    return found


def _engine(
    spec: RunSpec, policy: Policy, method: Method, machines: Machines, load: Callable[[], Policy] | None
) -> Engine:
    """Make the engine, with a critic or a reference model if an annotation of the method needs it."""
    factory = spec.template.engine
    takes = {one.name for one in list_options(factory.make)}
    needs = {"critic": "value" in method.annotate, "reference": "ref_logp" in method.annotate}
    if lacking := [name for name, needed in needs.items() if needed and name not in takes]:
        raise InputError(f"engine {factory.name} has no {' and no '.join(lacking)}, which method {spec.name} needs")
    given = {name: needed for name, needed in needs.items() if name in takes}
    return make_engine(factory.make, policy.model, machines, {**spec.options["engine"], **given}, load=load)
