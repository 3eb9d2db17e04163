"""Environments: what answers a policy's turns."""

from handaxe.rooms import open_room

open_room(__name__)
