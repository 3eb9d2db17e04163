from .clip_with_room import clip_with_room as clip_with_room
