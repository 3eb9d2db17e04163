"""Rollouts: strategies that play a task, as generators without I/O; and the driver that carries them out."""

from handaxe.rooms import open_room

open_room(__name__)
