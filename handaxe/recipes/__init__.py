"""Recipes: one file a paper, one choice a role. `handaxe recipes` lists them, `handaxe train NAME` runs one."""

__all__: list[str] = []
