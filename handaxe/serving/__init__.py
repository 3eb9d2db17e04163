"""Serves a policy as chat completions."""
