"""Search: trees of turns that are grown where they seem to be worth it, and steps chosen by a judge."""

from handaxe.rooms import open_room

open_room(__name__)
