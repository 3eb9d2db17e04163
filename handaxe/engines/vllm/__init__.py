"""vLLM servers that sample for an engine."""
