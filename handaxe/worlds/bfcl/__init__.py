"""Parts of the world `bfcl`."""
