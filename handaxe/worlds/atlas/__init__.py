"""Parts of the world `atlas`."""
