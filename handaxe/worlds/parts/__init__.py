"""Shared parts of worlds."""
