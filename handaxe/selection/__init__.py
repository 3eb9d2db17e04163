"""Selection: which tasks are tried next, and which groups train."""

from handaxe.rooms import open_room

open_room(__name__)
