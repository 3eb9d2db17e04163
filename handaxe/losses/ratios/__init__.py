"""Ratios: the policy now against the policy that sampled, by token or by sequence."""

from handaxe.rooms import open_room

open_room(__name__)
