"""Recipes for agents that act over many turns, with users, memories and searches."""

__all__: list[str] = []
