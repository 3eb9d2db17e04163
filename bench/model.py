"""Makes the policy that both sides of the comparison use: a small Llama that calls one tool at every turn.

    python bench/model.py FOLDER

The model has 0.9M parameters in transformers' own Llama, a byte-level BPE tokenizer learned here and the chat template
of Qwen 2.5 as TRL ships it (TRL reads calls only of templates that it knows). It is trained until every turn is a call
of `lookup`, whatever stands before it, with a number that it draws: so both sides sample equally many tokens, turn
after turn, and siblings say different things. Runs in the virtual environment of TRL.
"""

import json
import random
import sys
from pathlib import Path

import torch
import trl.chat_template_utils as templates
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import get_json_schema

CALL = (
    '<tool_call>\n{{"name": "lookup", "arguments": {{"key": "item a{} red green blue north south one two three"}}}}'
    "\n</tool_call><|im_end|>"
)
WORDS = "find the record of item a1 and say what it holds ; red green blue north south one two three".split()
POSITIONS = 8192
STEPS = 600


def lookup(key: str) -> str:
    """
    Look up a record.

    Args:
        key: which one
    """
    return f"record {key}: red green blue north south one two three"


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE with the control tokens of ChatML."""
    tool = json.dumps(get_json_schema(lookup))
    text = [templates.qwen2_5_chat_template, tool, " ".join(WORDS)]  # not the call: its words stay several tokens
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(text * 4, trainers.BpeTrainer(vocab_size=1000, initial_alphabet=alphabet))
    control = [AddedToken(name, special=True) for name in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    bpe.add_special_tokens(control)
    bpe.add_tokens([AddedToken(name, special=False) for name in ("<tool_call>", "</tool_call>")])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=templates.qwen2_5_chat_template,
        model_max_length=POSITIONS,
    )


def rows(words: PreTrainedTokenizerFast, rng: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of conversations, one turn after another, and which of their ids the policy writes."""
    question = " ".join(rng.choices(WORDS, k=rng.randint(2, 12)))
    tools = [get_json_schema(lookup)] if rng.random() < 0.8 else None
    messages = [{"role": "user", "content": question}]
    text = words.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True)
    ids = words.encode(text, add_special_tokens=False)
    said = [False] * len(ids)
    turns, longest = (rng.randint(9, 32), 40) if rng.random() < 0.2 else (rng.randint(1, 8), 16)
    for _ in range(turns):
        reply = " ".join(rng.choices(WORDS, k=rng.randint(2, longest)))
        glue = f"\n<|im_start|>user\n<tool_response>\n{reply}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
        after = words.encode(glue, add_special_tokens=False)
        call = words.encode(CALL.format(f"{rng.randrange(100):02d}"), add_special_tokens=False)
        ids, said = ids + call + after, said + [True] * len(call) + [False] * len(after)
    return torch.tensor([ids]), torch.tensor([said])


def main(folder: Path) -> None:
    """Train and save."""
    torch.manual_seed(0)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=128,
        intermediate_size=344,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=POSITIONS,
        bos_token_id=None,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rng = random.Random(0)
    for step in range(STEPS):
        ids, said = rows(words, rng)
        logp = model(ids).logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        loss = -logp[said[:, 1:]].mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.5f}", flush=True)
    model.generation_config.eos_token_id = words.eos_token_id
    model.generation_config.pad_token_id = words.pad_token_id
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, last loss {loss.item():.5f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
