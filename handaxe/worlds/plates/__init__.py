"""Parts of the world `plates`."""
