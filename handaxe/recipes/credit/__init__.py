"""Recipes that change who gets how much of what was scored."""

__all__: list[str] = []
