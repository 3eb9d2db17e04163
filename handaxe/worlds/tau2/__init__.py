"""Parts of the world `tau2`."""
