"""Parts of the world `library`."""
