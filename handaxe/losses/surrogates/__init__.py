"""Surrogates: the loss of a token from its ratio and its advantage."""

from handaxe.rooms import open_room

open_room(__name__)
