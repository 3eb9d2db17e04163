"""Parts of the world `scienceworld`."""
