"""Records, protocols and errors, shared by all packages."""
