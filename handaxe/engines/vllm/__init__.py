"""vLLM servers as samplers of an engine."""
