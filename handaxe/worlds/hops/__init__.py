"""Parts of the world `hops`."""
