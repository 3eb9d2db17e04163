"""Parts of the world `repair`."""
