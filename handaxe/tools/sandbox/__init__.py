"""CPython under bubblewrap: mounts, limits, the program inside, and the pool of sessions."""
