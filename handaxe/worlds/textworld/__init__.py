"""Parts of the world `textworld`."""
