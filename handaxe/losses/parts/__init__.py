"""What several losses share: the signatures of their parts, and metrics. No loss stands here."""
