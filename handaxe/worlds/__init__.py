"""Worlds: tasks, the environment they are tried in, and what is right there. One world a file."""
