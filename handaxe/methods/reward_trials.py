"""Attacks the rewards of methods and worlds."""

from collections.abc import Collection, Sequence

from handaxe.evaluation.attack_trials import SECONDS, AttackBench, AttackTrial
from handaxe.methods.build import make_method, make_world, offered_tools
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import RunSpec, run_template

__all__ = ["attack_all_methods", "attack_method"]


def attack_method(bench: AttackBench, spec: RunSpec, *, seconds: float | None = SECONDS) -> AttackTrial:
    """Attack the reward of a method in the world of a run."""
    world = make_world(spec)
    return bench.attack(
        make_method(spec, world).reward,
        world,
        key=_key(spec),
        name=spec.name,
        tools=offered_tools(spec.settings, world),
        seconds=seconds,
    )


def attack_all_methods(
    bench: AttackBench,
    *,
    skipped: Collection[str] = (),
    world_only: Collection[str] = (),
    seconds: float | None = SECONDS,
) -> tuple[list[AttackTrial], list[str]]:
    """Attack the correctness rule of every default world, and every different reward of a method.

    Args:
        bench: makes scenes.
        skipped: methods to leave out.
        world_only: methods of which only the world is attacked.
        seconds: see `attack_reward`.

    Returns:
        Trials, of worlds (named "world NAME") and then of methods; and the methods whose reward is their world's.
    """
    methods, same = list[AttackTrial](), list[str]()
    worlds: dict[object, AttackTrial] = {}
    for name in (one for one in _names() if one not in skipped):
        spec = run_template(name).default()
        world = make_world(spec)
        if _key(spec) not in worlds:
            worlds[_key(spec)] = bench.attack(
                world.correct,
                world,
                key=_key(spec),
                name=f"world {world.name}",
                tools=offered_tools(spec.settings, world),
                seconds=seconds,
            )
        if make_method(spec, world).reward is world.correct:
            same.append(name)
        elif name not in world_only:
            methods.append(attack_method(bench, spec, seconds=seconds))
    return [*_numbered(list(worlds.values())), *methods], same


def _names() -> Sequence[str]:
    return [one.name for one in list_methods()]


def _numbered(trials: Sequence[AttackTrial]) -> list[AttackTrial]:
    """Number worlds with equal names and different options."""
    count: dict[str, int] = {}
    out = []
    for one in trials:
        count[one.name] = count.get(one.name, 0) + 1
        out.append(one._replace(name=one.name if count[one.name] == 1 else f"{one.name} ({count[one.name]})"))
    return out


def _key(spec: RunSpec) -> object:
    made = spec.template.world
    return made.name, repr(sorted(spec.options["world"].items())), spec.settings.tools
