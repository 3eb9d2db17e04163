"""Parts of the world `priced`."""
