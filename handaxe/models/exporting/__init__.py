"""Export of a policy to a folder for transformers and for servers built on transformers."""
