"""Parts of the world `clips`."""
