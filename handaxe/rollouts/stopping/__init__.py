"""Stopping: when the rest of a group is no longer played."""

from handaxe.rooms import open_room

open_room(__name__)
