"""Supervised fine-tuning: demonstrations, cold starts."""
