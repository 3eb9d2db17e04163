"""Construction of stage contexts with a subset of the roles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Curriculum, Engine, EnvFactory, Reward, Rollout, StageContext
from handaxe.core.records import Sampling

__all__ = ["Absent", "make_site"]


class Absent:
    """Placeholder of a missing role; any use raises InputError.

    Args:
        role: name of the role.
        why: the end of the message.
    """

    def __init__(self, role: str, why: str):
        self._said = f"this stage asks for the site's {role}, and {why}"

    def __call__(self, *arguments: Any) -> Any:
        raise InputError(self._said)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_said", "state_dict", "load_state_dict", "astep"):
            raise AttributeError(name)
        raise InputError(self._said)


def make_site(
    *,
    engine: Engine,
    format: ChatFormat,
    env: EnvFactory | None = None,
    tasks: Curriculum | None = None,
    rollout: Rollout | None = None,
    reward: Reward | None = None,
    sampling: Sampling | None = None,
    seed: int = 0,
    out: Path | None = None,
    resume: bool = False,
    progress: bool = False,
    why: str = "it has none: give it to the stage, or to make_site",
) -> StageContext:
    """Make a context for stages that need only these roles; use of another role raises InputError.

    Args:
        engine, format, env, tasks, rollout, reward, sampling, seed, out, resume, progress: see
            `core.protocols.StageContext`.
        why: the end of the error message.

    Example:
        teach(source=scripted(trajectories=lessons))(make_site(engine=engine, format=format))
    """
    return StageContext(
        engine=engine,
        format=format,
        env=env or Absent("env", why),
        tasks=tasks or Absent("tasks", why),
        rollout=rollout or Absent("rollout", why),
        reward=reward or Absent("reward", why),
        sampling=sampling or Absent("sampling", why),  # type: ignore[arg-type]
        seed=seed,
        out=out,
        resume=resume,
        progress=progress,
    )
