"""Parts of the world `routing`."""
