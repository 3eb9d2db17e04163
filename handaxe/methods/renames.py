"""Names of version 0.1 and their names now, for run folders and results that an older version wrote."""

import shlex
from collections.abc import Mapping
from typing import Any

__all__ = [
    "ENGINE_OPTIONS",
    "METHODS",
    "OPTIONS",
    "REMOVED",
    "SETTINGS",
    "WORLDS",
    "WORLD_DEFAULTS",
    "WORLD_OPTIONS",
    "renamed_arguments",
    "renamed_command",
]

METHODS: Mapping[str, str] = {
    "frozen": "no_training",
    "plain": "grpo_no_kl",
    "revisiting": "small_task_set",
    "taught": "sft",
}
WORLDS: Mapping[str, str] = {
    "asked_sums": "arithmetic_questions",
    "confident_sums": "confident_arithmetic",
    "described": "descriptions",
    "fact_sums": "fact_products",
    "priced": "routing",
    "slips": "arithmetic",
    "sums": "arithmetic",
    "sums_and_hops": "arithmetic_and_facts",
}
WORLD_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "folded_hops": {"after": "fold_after"},
    "jsonl": {"by": "breakdown"},
    "toolchains": {"needless": "spurious_rate"},
    "worked_steps": {"slips": "mistakes"},
}
"""World -> option of version 0.1 -> option now."""
WORLD_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"slips": {"easy": 0.0, "mistakes": True}}
"""World of version 0.1 that is now an option of another world -> its options now."""
ENGINE_OPTIONS: Mapping[str, str] = {"checkpointing": "gradient_checkpointing", "kept_tokens": "prefix_cache_tokens"}
"""Option "engine.NAME" of version 0.1 -> option now."""
SETTINGS: Mapping[str, str] = {"others": "aux_policies", "shuffled": "permute_rewards"}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "adareasoner": {"best": "answer_reward"},
    "aepo": {"copies": "forks", "total": "leaves"},
    "agent0": {"earlier": "earlier_rounds"},
    "agent_evolver": {"good": "step_reward", "wrong": "label_noise"},
    "agentmath": {"calls": "call_limits", "few": "call_bonus", "tokens": "token_limits", "truncated": "max_truncation"},
    "arpo": {"copies": "forks", "total": "leaves"},
    "arpo_gui": {"above": "min_reward", "most": "capacity"},
    "artist_bfcl": {"function": "function_weight", "state": "state_weight"},
    "calibrated": {"right": "bonus", "wrong": "penalty"},
    "calm_judged": {"taught": "demonstrations"},
    "chartmaster": {"look": "visual_weight", "taught": "sft_rounds"},
    "cleaner": {"similar": "similarity"},
    "deepeyes": {"always": "unconditional_bonus", "probed": "probe_tasks"},
    "deepeyes_v2": {"cold_steps": "sft_steps", "search": "search_reward"},
    "deepsport": {"broken": "malformed_reward", "share": "tool_bonus"},
    "grounded_prm": {"wrong": "label_noise"},
    "grpo_tcr_taught": {"attempts": "sft_tasks", "passes": "sft_epochs", "shown": "demonstrations"},
    "hdpo": {"scalar": "scalar_weight"},
    "hybrid": {"formed": "format_weight", "long": "length_weight"},
    "ikea": {"few": "direct_bonus", "searched": "search_bonus"},
    "inspo": {"every": "evolve_every"},
    "ipa": {"cut": "top_p"},
    "longvt": {"played_last": "rft_tasks", "time": "overlap_weight"},
    "mindwatcher": {"failed": "failure_weight", "formed": "format_weight"},
    "mixed_r1": {"ngrams": "bleu"},
    "molact": {"first": "first_stage"},
    "ophiuchus": {"reflection": "reflection_steps", "region": "overlap_weight", "tool": "tool_weight"},
    "portool": {"fork_most": "max_forks", "total": "leaves"},
    "prs": {"formed": "format_weight", "quality": "quality_weight", "ran": "execution_weight"},
    "prs_vspo": {"even": "uniform"},
    "pure": {"outcome": "outcome_weight"},
    "reasoning_sql": {"partial": "partial_weight", "rows": "rows_weight"},
    "recompose": {"chance": "replay_rate", "fading": "decay_steps", "share": "priority_share"},
    "rex_rag": {"chance": "probe_rate", "taught": "sft_steps", "weight": "correction"},
    "rl_mle": {"partial": "landmark_reward", "power": "duration_power"},
    "router_r1": {"share": "cost_share"},
    "rusca_rl": {"middle": "midpoint", "taught": "sft_steps"},
    "scaling_inter_rl": {"every": "stage_steps"},
    "simpletir": {"keep": "train_empty_turns"},
    "small_lm": {"taught": "demonstrations"},
    "small_lm_tiny": {"taught": "demonstrations"},
    "smart": {"above": "threshold", "show": "demonstrations"},
    "spear": {"anneal": "anneal_steps"},
    "tapo": {"each": "call_bonus"},
    "thor": {"alpha": "nll", "back": "rewind_tokens", "copies": "forks"},
    "tool_star": {"judged": "dpo_tasks"},
    "toolrl": {"thought": "thought_weight"},
    "toolrl_scales": {"at": "start_step", "formats": "format_weights", "matches": "call_weights", "over": "ramp_steps"},
    "tp_grpo": {"wrong": "label_noise"},
}
"""Method -> option of version 0.1 -> option now."""
REMOVED: Mapping[str, Mapping[str, Any]] = {
    "aepo": {"turns": 3},
    "agent_evolver": {"explored": 0, "taught": 0, "tips": 0, "wider": 0.4},
    "agentmath": {"passes": 0, "solutions": 64},
    "arpo": {"turns": 3},
    "asearcher": {"first_come": False},
    "cleaner": {"turns": 3},
    "deepagent": {"fold": 0.5},
    "deepeyes_v2": {"characters": 300},
    "deeptravel": {"aggregate": "all", "every": 1},
    "flow_grpo": {"unit": "rollout"},
    "ftrl": {"longest": 20, "played": 256},
    "geovista": {"align_weight": 0.0, "leak_weight": 0.0},
    "grpo_tcr": {"most": 96},
    "gui_r1": {"near": 7.0, "tasks": 320},
    "ikea": {"pool": 128},
    "ipa": {"imitate": True},
    "istar": {"refreshed": False},
    "lite_ppo": {"of": "reward"},
    "loop": {"kl_bound": 20.0},
    "matchtir": {"assign": "hard"},
    "portool": {"turns": 3},
    "retool": {"bonus": 0.0, "cap": -1.0},
    "rex_rag": {"rate": 0.1},
    "router_r1": {"released": False},
    "small_lm": {"rate": 0.0002},
    "small_lm_tiny": {"rate": 0.001},
    "smart": {"most": 256, "tries": 8},
    "spa_rl": {"collected": 40, "judge_rate": 0.0003, "passes": 2},
    "thor": {"imitated": 0, "redrawn": 0},
    "tiger": {"rel_tol": 0.01},
    "toolrl_scales": {"grade": "fine", "scale": 3.0},
    "verltool": {"turn_weight": 0.0},
}
"""Method -> option of version 0.1 that no longer exists -> its default. An argument with another value stays."""


def renamed_arguments(saved: Mapping[str, Any], *, method: str = "") -> dict[str, Any]:
    """Arguments of a run in the names of this version.

    Args:
        saved: name -> value; options of the base are named "base.NAME".
        method: the method of the run, whose options have no prefix; by default the argument "method" or "recipe".

    Example:
        {"base": "plain", "others": []} -> {"base": "grpo_no_kl", "aux_policies": []}
    """
    found = {SETTINGS.get(name, name): value for name, value in saved.items()}
    for part, names in (("recipe", METHODS), ("method", METHODS), ("base", METHODS), ("world", WORLDS)):
        if part in found:
            found[part] = names.get(found[part], found[part])
    found = _renamed_options(found, "engine.", ENGINE_OPTIONS, {})
    world = str(saved.get("world", ""))
    found = _renamed_options(found, "world.", WORLD_OPTIONS.get(world, {}), {})
    found |= {f"world.{name}": value for name, value in WORLD_DEFAULTS.get(world, {}).items()}
    own = method or str(found.get("method", found.get("recipe", "")))
    for prefix, name in (("", METHODS.get(own, own)), ("base.", str(found.get("base", "")))):
        found = _renamed_options(found, prefix, OPTIONS.get(name, {}), REMOVED.get(name, {}))
    return found


def renamed_command(words: str) -> str:
    """A method and its options, as a claim's baseline names them, in the names of this version.

    Example:
        "frozen --model smollm2" -> "no_training --model smollm2"
    """
    parts = shlex.split(words)
    world = parts[parts.index("--world") + 1] if "--world" in parts[:-1] else ""
    for place, word in enumerate(parts):
        if place == 0 or parts[place - 1] == "--base":
            parts[place] = METHODS.get(word, word)
        elif parts[place - 1] == "--world":
            parts[place] = WORLDS.get(word, word)
    base = parts[parts.index("--base") + 1] if "--base" in parts[:-1] else ""
    owners = {"": parts[0] if parts else "", "base": base, "world": world}
    for name, value in WORLD_DEFAULTS.get(world, {}).items():
        parts += [f"--world.{name}"] if value is True else [f"--world.{name}", str(value)]
    return shlex.join(_renamed_flag(word, owners) if word.startswith("--") else word for word in parts)


def _renamed_options(
    found: Mapping[str, Any], prefix: str, names: Mapping[str, str], removed: Mapping[str, Any]
) -> dict[str, Any]:
    gone = {prefix + name: default for name, default in removed.items()}
    new = {prefix + old: prefix + name for old, name in names.items()}
    return {new.get(name, name): value for name, value in found.items() if not (name in gone and gone[name] == value)}


def _renamed_flag(flag: str, owners: Mapping[str, str]) -> str:
    """A flag with the option's new name; `owners` maps the prefix of the flag ("", "base" or "world") to its owner.
    Options of engines need no owner."""
    prefix, dot, name = flag.removeprefix("--").rpartition(".")
    negation = "no-" if name.startswith("no-") else ""
    option = name.removeprefix("no-").replace("-", "_")
    options = WORLD_OPTIONS if prefix == "world" else OPTIONS
    names = ENGINE_OPTIONS if prefix == "engine" else options.get(owners.get(prefix, ""), {})
    new = names.get(option, option)
    return flag if new == option else f"--{prefix}{dot}{negation}{new.replace('_', '-')}"
