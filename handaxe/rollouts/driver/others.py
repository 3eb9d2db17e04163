"""Engines besides the policy's: how attempts speak to them, and that nothing of theirs is taken for the policy's."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Trajectory
from handaxe.core.requests import AuxVoice

__all__ = ["NO_OTHERS", "asked_in", "check_own", "voices"]

NO_OTHERS: Mapping[str, Any] = MappingProxyType({})
"""No engine besides the policy's."""


def voices(others: Mapping[str, AuxPolicy]) -> dict[str, AuxVoice]:
    """How an attempt speaks to each of them.

    Raises:
        InputError: one of them has no name, which is the policy's.
    """
    if "" in others:
        raise InputError("an engine that is asked besides the policy needs a name, such as others={'user': ...}")
    return {name: AuxVoice(one.format, one.sampling, one.engine.max_length) for name, one in others.items()}


def asked_in(trajectory: Trajectory) -> list[Trajectory]:
    """All that other engines said in an attempt, with what others again said in that."""
    return [one for said in trajectory.asked for one in (said, *asked_in(said))]


def check_own(trajectories: Iterable[Trajectory]) -> None:
    """Raise InputError where a rollout returns what another engine said as if it were an attempt of the policy."""
    for one in trajectories:
        if one.by:
            raise InputError(
                f"a rollout returned {one.id!r}, which {one.by!r} said, as an attempt of the policy: it would be "
                "scored and trained. Put it into the attempt's `asked`"
            )
