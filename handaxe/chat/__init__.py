"""Using a policy: questions in, answers and their calls out."""
