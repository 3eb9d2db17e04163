"""Reductions: from the losses of tokens to one number, and what it is divided by."""

from handaxe.rooms import open_room

open_room(__name__)
