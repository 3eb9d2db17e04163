"""Parts of the world `screen`."""
