"""Adjustments: what changes the loss of some tokens by what is known of their task."""

from handaxe.rooms import open_room

open_room(__name__)
