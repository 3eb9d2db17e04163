"""Parts that several worlds share."""
