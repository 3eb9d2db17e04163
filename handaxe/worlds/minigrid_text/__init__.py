"""Parts of the world `minigrid_text`."""
