"""Losses: what the update follows, composed of a ratio, a surrogate, a reduction and further terms."""

from handaxe.rooms import open_room

open_room(__name__)
