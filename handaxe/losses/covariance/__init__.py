"""Adjustments of single tokens' losses by how advantage and log-prob move together."""

from handaxe.rooms import open_room

open_room(__name__)
