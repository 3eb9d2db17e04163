"""Worlds: tasks, the environment they are tried in, and what is right there. One world a file."""

from handaxe.rooms import open_room

open_room(__name__)
