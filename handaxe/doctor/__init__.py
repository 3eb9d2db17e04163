"""Checks before an expensive run; each check returns a finding and a remedy."""

__all__: list[str] = []
