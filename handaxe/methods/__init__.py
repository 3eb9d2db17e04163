"""Methods: pages, lookup by name, and arguments of `train` built from a method and options."""

__all__: list[str] = []
