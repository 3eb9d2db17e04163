"""Parts of the world `textarena`."""
