"""The engine of one process: continuous batching, prefix caching, training in plain torch."""
