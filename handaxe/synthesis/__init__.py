"""Data synthesis: steps propose, execute, filter and measure drafts; the rest becomes tasks."""
