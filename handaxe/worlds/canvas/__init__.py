"""Parts of the world `canvas`."""
