"""The engine of several processes: sharded training ranks."""
