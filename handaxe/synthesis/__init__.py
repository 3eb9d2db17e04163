"""Tasks that are made of others, or of what an environment was found to hold. One way a file."""

from handaxe.rooms import open_room

open_room(__name__)
