"""Engines of auxiliary policies: chats per rollout, and a check that their trajectories never train."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Trajectory
from handaxe.core.requests import AuxChat

__all__ = ["NO_AUX_POLICIES", "aux_chats", "check_policy_trajectories", "nested_aux_trajectories"]

NO_AUX_POLICIES: Mapping[str, Any] = MappingProxyType({})
"""No auxiliary policy."""


def aux_chats(aux_policies: Mapping[str, AuxPolicy]) -> dict[str, AuxChat]:
    """Return the chats of auxiliary policies by name.

    Raises:
        InputError: an empty name, which denotes the policy.
    """
    if "" in aux_policies:
        raise InputError("an auxiliary policy needs a name, such as aux_policies={'user': ...}")
    return {name: AuxChat(one.format, one.sampling, one.engine.max_length) for name, one in aux_policies.items()}


def nested_aux_trajectories(trajectory: Trajectory) -> list[Trajectory]:
    """Return the trajectories of auxiliary policies in a rollout, with nested ones."""
    return [one for turn in trajectory.aux_turns for one in (turn, *nested_aux_trajectories(turn))]


def check_policy_trajectories(trajectories: Iterable[Trajectory]) -> None:
    """Raise InputError if a rollout strategy returns a trajectory of an auxiliary policy as one of the policy."""
    for one in trajectories:
        if one.by:
            raise InputError(
                f"a rollout strategy returned the trajectory {one.id!r} of the auxiliary policy {one.by!r}, which "
                "would be scored and trained as the policy's. Put it into `Trajectory.aux_turns`"
            )
