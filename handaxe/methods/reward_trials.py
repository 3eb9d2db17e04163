"""Tries the reward of recipes, each in its own world, with attempts that deserve nothing."""

from collections.abc import Mapping, Sequence

from handaxe.evaluation.lab import SECONDS, AttackTrial, Bench
from handaxe.methods.build import make_method, make_world, offered_tools
from handaxe.methods.catalog import list_methods
from handaxe.methods.run_spec import RunSpec, run_template

__all__ = ["ASKS_MODEL", "UNTRIED_RECIPES", "try_all", "try_recipe"]

UNTRIED_RECIPES: Mapping[str, str] = {
    "calm_judged": "its judge is the policy before a stage has taught it",
    "igpo": "it pays for what a policy says of the right answer's likelihood while it plays, and here none plays",
    "istar": "its judge learns beside a policy; see `implicit_prm` above",
    "spa_rl": "its judge knows nothing before a stage has taught it by attempts of a run",
}
"""Recipes whose reward cannot be asked about attempts that no policy made."""
ASKS_MODEL = ("hybrid",)
"""Recipes whose reward asks a model, which takes seconds."""


def try_recipe(stage: Bench, chosen: RunSpec, *, seconds: float | None = SECONDS) -> AttackTrial:
    """Attack the reward of a recipe in the world that was chosen for it."""
    world = make_world(chosen)
    return stage.attack(
        make_method(chosen, world).reward,
        world,
        key=_key(chosen),
        said=chosen.name,
        tools=offered_tools(chosen.settings, world),
        seconds=seconds,
    )


def try_all(
    stage: Bench, *, models: bool = True, seconds: float | None = SECONDS
) -> tuple[list[AttackTrial], list[str]]:
    """Attack the reward of every recipe that pays something else than its world does, and what each world pays.

    Args:
        stage: makes scenes.
        models: also what asks a model.
        seconds: see `attack_reward`.

    Returns:
        Trials, of worlds (called "world NAME") and then of recipes; and the names of recipes that pay what their world
        does.
    """
    recipes, plain = list[AttackTrial](), list[str]()
    worlds: dict[object, AttackTrial] = {}
    for name in _names():
        chosen = run_template(name).default()
        world = make_world(chosen)
        if _key(chosen) not in worlds:
            worlds[_key(chosen)] = stage.attack(
                world.correct,
                world,
                key=_key(chosen),
                said=f"world {world.name}",
                tools=offered_tools(chosen.settings, world),
                seconds=seconds,
            )
        if make_method(chosen, world).reward is world.correct:
            plain.append(name)
        elif models or name not in ASKS_MODEL:
            recipes.append(try_recipe(stage, chosen, seconds=seconds))
    return [*_numbered(list(worlds.values())), *recipes], plain


def _names() -> Sequence[str]:
    return [one.name for one in list_methods() if one.name not in UNTRIED_RECIPES]


def _numbered(trials: Sequence[AttackTrial]) -> list[AttackTrial]:
    """Two worlds of one name, with other options, are told apart by numbers."""
    count: dict[str, int] = {}
    out = []
    for one in trials:
        count[one.said] = count.get(one.said, 0) + 1
        out.append(one._replace(said=one.said if count[one.said] == 1 else f"{one.said} ({count[one.said]})"))
    return out


def _key(chosen: RunSpec) -> object:
    made = chosen.template.world
    return made.name, repr(sorted(chosen.options["world"].items())), chosen.settings.tools
