"""Recipes: one file a paper, in a folder for its theme, each a change to a base. `handaxe recipes` lists them."""

__all__: list[str] = []
