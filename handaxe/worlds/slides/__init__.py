"""Parts of the world `slides`."""
