"""Parts of the world `glimpse`."""
