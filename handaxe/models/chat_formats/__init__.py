"""Chat formats: render messages to token ids, parse sampled ids into text and tool calls.

compact              byte-level format of tiny policies
pieces               compact, with pieces of words instead of bytes
hermes               ChatML with JSON calls between tags
chat_template        the chat template of any tokenizer
template_rendering   conversations through a chat template, with placeholders
template_probe       forms of messages and call syntax that a template accepts
transcript           messages of a chat completions server
tool_call_parsing    JSON of tool calls between tags
model_calls          base of the call syntaxes of model families:
section_calls, json_calls, glm_calls, harmony_calls
safe_encoder         token ids of trusted and untrusted text
saved_format         the format of a run, saved in its folder
"""
