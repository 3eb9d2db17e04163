"""Corrections: weights for tokens that another distribution drew."""

from handaxe.rooms import open_room

open_room(__name__)
