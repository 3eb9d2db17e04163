"""Parts of the world `miniwob`."""
