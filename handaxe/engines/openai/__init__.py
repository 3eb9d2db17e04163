"""Sampling from servers of the chat completions protocol."""
