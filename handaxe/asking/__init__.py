"""Questions to language models: prompts, answers, readers, and the desk that batches, caches and repeats them."""
