"""Joint loss of a reward model with a tool trace before the score: next tokens and preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from handaxe.core.batch import CHANNEL, Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.core.records import Author, Trajectory
from handaxe.losses.parts.components import check_whole_rollouts
from handaxe.losses.parts.token_metrics import floats
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.losses.preference.summed import summed
from handaxe.ops.masked import masked, sum_by_key
from handaxe.training.loop.batch import Row, pad

__all__ = ["Reads", "check_reads", "joint_batch", "joint_loss", "score_at_reads", "trace_cross_entropy"]

Reads = Literal["last", "mean"]
"""Tokens where the score is read: the last token of the last turn, or all tokens after the first, with their mean."""
READ = "read"
"""Channel with 1 where the score is read."""


def check_reads(reads: str) -> None:
    """Raise InputError unless the word names tokens where a score is read."""
    if reads not in get_args(Reads):
        raise InputError(f"reads of a judge is {reads!r}; write 'last' or 'mean'")


def joint_batch(
    pairs: Sequence[tuple[Trajectory, Trajectory]], *, pad_id: int, learn_results: bool = True, reads: Reads = "last"
) -> Batch:
    """Make a batch of a judge's conversations about the better and the worse answer of each pair.

        learned    the judge's turns, and replies of tools unless `learn_results` is False: advantage 1; question and
                   answer are not learned
        read       the last token of the last turn, or all tokens after the first: channel "read" is 1

    Args:
        pairs: conversations about the chosen and the rejected answer; rollout 2k is chosen, 2k + 1 rejected.
        pad_id: of the model.
        learn_results: learn the replies of tools as text; False is an ablation, the flag no_observation of the
            released code.
        reads: "last" reads the score at the last token, "mean" at all tokens, as ranking_way of the released code.

    Returns:
        A batch at temperature 1; the mask is the tokens that are learned or read.

    Raises:
        InputError: no pair, a conversation without a turn, or another word for reads.

    Example:
        question, answer, call, reply, rationale  ->  call, reply and rationale are learned; the last token is read
        the same with learn_results=False         ->  call and rationale are learned
        the same with reads="mean"                ->  all tokens of question, answer, call, ... after the first are read

    Paper: arXiv:2310.01045 (Themis), the masks of its released code.
    Differs: the chosen answer itself is not learned as text; the mean leaves the first token out, whose state is the
        same in all conversations.
    """
    check_reads(reads)
    sides = [one for pair in pairs for one in pair]
    if not sides:
        raise InputError("there is no pair to learn from: give at least one")
    if empty := [one.id for one in sides if not one.turns]:
        raise InputError(f"the conversation {empty[0]!r} of a judge has no turn, so there is no score to read")
    return pad([row for k, one in enumerate(sides) for row in _rows(one, k, learn_results, reads)], pad_id=pad_id)


def _rows(one: Trajectory, rollout: int, learn_results: bool, reads: Reads) -> list[Row]:
    rows = list[Row]()
    for s, sequence in enumerate(one.sequences):
        learned = np.asarray(sequence.mask | (learn_results & (sequence.author == int(Author.TOOL))), bool)
        read = _read(one, s, reads)
        mask, adv = learned | (read > 0), learned.astype(np.float64)
        rows.append(Row(sequence, adv, rollout // 2, rollout, 1.0, None, mask, {READ: read}, one.images))
    return rows


def _read(one: Trajectory, s: int, reads: Reads) -> np.ndarray:
    """1 at the tokens of sequence s where the score is read."""
    read, last = np.zeros(len(one.sequences[s])), one.turns[-1]
    if reads == "mean":
        read[1:] = 1.0
    elif last.sequence == s:
        read[last.stop - 1] = 1.0
    return read


def trace_cross_entropy() -> Loss:
    """Learn the trace: mean cross-entropy over the learned tokens of both sides.

        L = sum over t with adv_t > 0 of -logp_t / (number of tokens with adv_t > 0 in the optimizer step)

    Returns:
        A loss with metric loss, in nats per token. 0 without a learned token.

    Example:
        logp -0.5 and -1.5 at two learned tokens, -9 at a token that is only read  ->  1.0

    Paper: arXiv:2310.01045 (Themis), L_LM in its released code.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        learned_BT = batch.mask_BT & (batch.adv_BT > 0)
        value = masked(-out.logp_BT, learned_BT).sum() / max(batch.denominators.positive, 1.0)
        return LossOut(value, floats({"loss": value}))

    return loss


def score_at_reads(loss: Loss) -> Loss:
    """Give a loss of scores the tokens of channel "read" alone.

    Example:
        five learned tokens, the last of them read: `bradley_terry` sees the score at the last one

    Idea: losses of reward models read scores at the trained tokens of a batch.
    """

    def at_reads(out: PolicyOut, batch: Batch) -> LossOut:
        check_whole_rollouts(batch)
        read_BT = batch.mask_BT & (batch.extras[CHANNEL + READ] > 0)
        tokens_B = sum_by_key(read_BT.sum(1).to(batch.rollout_tokens_B.dtype), batch.rollout_B)
        return loss(out, replace(batch, mask_BT=read_BT, rollout_tokens_B=tokens_B))

    return at_reads


def joint_loss(*, preference: float = 0.5) -> Loss:
    """Learn the trace and the preference.

        L = L_LM + preference * L_RM,      L_RM = mean over pairs of softplus(-(r_chosen - r_rejected))

    Args:
        preference: weight of the Bradley-Terry loss; 0.5 in the paper's code.

    Returns:
        A loss of batches of `joint_batch`, with metrics trace/... and preference/...

    Raises:
        InputError: a negative weight.

    Example:
        L_LM 2.0 and r_chosen - r_rejected = 1.0  ->  2.0 + 0.5 * 0.3133 = 2.1566

    Paper: arXiv:2310.01045 (Themis), the sum of both losses.
    Differs: nothing.
    """
    if preference < 0:
        raise InputError(f"preference is {preference}; give 0 or more")
    return summed(
        losses={"trace": (1.0, trace_cross_entropy()), "preference": (preference, score_at_reads(bradley_terry()))}
    )
