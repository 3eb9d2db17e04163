"""What several credits share. No credit stands here."""
