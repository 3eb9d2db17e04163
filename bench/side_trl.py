"""One side of the comparison: TRL's GRPOTrainer, a step at a time; see bench/sides.py for the conversation.

Reads one JSON line with the setting, then takes one optimiser step for every further line and answers each with the
seconds it took and what was sampled in it. Runs in the virtual environment of TRL.
"""

import json
import sys
import time

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

OUT = sys.stdout
sys.stdout = sys.stderr  # what trainers print must not mix with the answers


class Pace(TrainerCallback):
    """Takes a step when told to, and says how long it took."""

    def __init__(self) -> None:
        self.sampled = self.calls = 0
        self.start = 0.0

    def on_step_begin(self, args, state, control, **kwargs):
        if not sys.stdin.readline():
            raise SystemExit
        self.sampled = self.calls = 0
        self.start = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        answer = {"seconds": time.perf_counter() - self.start, "calls": self.calls, "tokens": self.sampled}
        print(json.dumps(answer), file=OUT, flush=True)


def main() -> None:
    """Build the trainer and train."""
    setting = json.loads(sys.stdin.readline())
    torch.set_num_threads(setting["threads"])
    pace = Pace()
    waits = setting["waits"]
    replies = setting["replies"]

    def lookup(key: str) -> str:
        """
        Look up a record.

        Args:
            key: which one
        """
        call = pace.calls  # rollout after rollout, then the next turn
        pace.calls += 1
        time.sleep(waits[call % len(waits)])
        return replies[call % len(replies)]

    def reward(completions, completion_ids, **kwargs) -> list[float]:
        pace.sampled = sum(len(ids) for ids in completion_ids)
        return [float(i % 2) for i in range(len(completions))]

    rollouts, turns = setting["rollouts"], setting["turns"]
    questions = [{"prompt": [{"role": "user", "content": text}]} for text in setting["questions"]]
    rows = min(16, rollouts)
    config = GRPOConfig(
        output_dir=setting["folder"],
        per_device_train_batch_size=rows,
        gradient_accumulation_steps=rollouts // rows,
        num_generations=setting["group_size"],
        max_completion_length=setting["max_completion"],
        max_tool_calling_iterations=turns if turns else None,
        temperature=setting["temperature"],
        learning_rate=setting["learning_rate"],
        beta=0.0,
        loss_type="grpo",
        max_steps=setting["steps"],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
        shuffle_dataset=False,
        seed=0,
    )
    trainer = GRPOTrainer(
        model=setting["model"],
        reward_funcs=reward,
        args=config,
        train_dataset=Dataset.from_list(questions * (setting["steps"] + 1)),
        tools=[lookup] if turns else None,
        callbacks=[pace],
    )
    print(json.dumps({"ready": True}), file=OUT, flush=True)
    trainer.train()


if __name__ == "__main__":
    main()
