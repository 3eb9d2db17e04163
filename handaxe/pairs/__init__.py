"""Pairs: [Rated] -> [Pair]. Which attempts are preferred to which others."""

from handaxe.rooms import open_room

open_room(__name__)
