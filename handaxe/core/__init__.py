"""Records, protocols and errors: the nouns that every other package uses."""
