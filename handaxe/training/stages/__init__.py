"""Stages: (Site) -> metrics of each step. Parts of a run, such as teaching before reinforcement; see run_stages."""

from handaxe.rooms import open_room

open_room(__name__)
