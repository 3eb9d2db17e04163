"""Chat formats: render messages to token ids, parse sampled ids into text and tool calls.

compact              byte-level format of tiny policies
hermes               ChatML with JSON calls between tags
chat_template        the chat template of any tokenizer
transcript           messages of a chat completions server
tool_call_parsing    JSON of tool calls between tags
safe_encoder         token ids of trusted and untrusted text
saved_format         the format of a run, saved in its folder
"""
