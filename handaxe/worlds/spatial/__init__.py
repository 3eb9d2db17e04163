"""Parts of the world `spatial`."""
