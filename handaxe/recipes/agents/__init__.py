"""Recipes that change what a policy is told, or who it is."""

__all__: list[str] = []
