"""Full CPython under bubblewrap: what is mounted, what is allowed, the program inside, and the pool of sessions."""
