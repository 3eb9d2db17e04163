"""Recipes that change how sampling, tools and updates go on beside each other."""

__all__: list[str] = []
