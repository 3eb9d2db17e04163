from .widened_clip import widened_clip as widened_clip
