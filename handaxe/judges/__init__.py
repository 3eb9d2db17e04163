"""Judges: Group -> scores, by parameters of their own. Rewards and rollouts are given one as an argument."""

from handaxe.rooms import open_room

open_room(__name__)
