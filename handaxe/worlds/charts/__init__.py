"""Parts of the world `charts`."""
