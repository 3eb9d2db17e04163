"""Parts of the world `documents`."""
