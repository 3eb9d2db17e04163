"""Chat with a policy: questions in, answers and tool calls out."""
