"""Parts of the world `toolbox`."""
