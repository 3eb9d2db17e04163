"""Data synthesis: drafts go through steps that propose, execute, filter and measure them; the rest becomes tasks."""
