"""Chat completions server for a policy."""
