"""Requests of labels to a chat server: the alternatives of one token, or a written label."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from handaxe.engines.openai.chat_http import ChatHttp, ChatReply, RefusedError, token_usage
from handaxe.engines.openai.label_reply import LabelFailure, LabelReply, one_token_separates, read_labels

__all__ = ["LABEL_TOKENS", "LabelRequests"]

TOP = 20
"""Alternatives requested from a server, the most of the protocol."""
LABEL_TOKENS = 16
"""Most tokens of a label that a server writes."""


class LabelRequests:
    """Labels of one server; thread-safe.

    Args:
        http: client of the server.
        max_tokens_field: the server's name of the token limit.
    """

    def __init__(self, http: ChatHttp, max_tokens_field: str):
        self._http, self._max_tokens_field = http, max_tokens_field
        self._gives_logprobs = True

    def ask(self, body: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]) -> LabelReply:
        """Labels by the alternatives of the first token. For labels that begin alike, and for a server without
        alternatives, which is remembered, the label that the server writes.

        Args:
            body: request of a written label.
            labels: label -> its surface forms.

        Raises:
            RefusedError: the server refuses the key, the address or the model.
            InfrastructureError: the server gives no answer.
        """
        start_time = time.perf_counter()
        paid = list[LabelReply]()
        reply = None
        if self._gives_logprobs and one_token_separates(labels):
            reply = self._first_token(body, labels, paid)
        if reply is None:
            reply = self._post(body, paid)[0]
            self._gives_logprobs &= len(paid) == 1 or not paid[0].text or bool(reply.failure)
        read, written = sum(one.read for one in paid), sum(one.written for one in paid)
        return reply._replace(read=read, written=written, seconds=time.perf_counter() - start_time)

    def _first_token(
        self, body: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]], paid: list[LabelReply]
    ) -> LabelReply | None:
        """Labels by the alternatives of the first token; None for an answer without alternatives."""
        asked = {**body, self._max_tokens_field: 1, "temperature": 1.0, "top_p": 1.0}
        reply, answer = self._post({**asked, "logprobs": True, "top_logprobs": TOP}, paid)
        if reply.failure == "too_long":
            return reply
        return read_labels(answer, labels) if answer else None

    def _post(self, body: Mapping[str, Any], paid: list[LabelReply]) -> tuple[LabelReply, dict[str, Any]]:
        """The text of an answer, and the answer; {} for a refused question. Appends to `paid`."""
        answer = dict[str, Any]()
        try:
            answer = self._http.post(body)
            said = ChatReply.parse(answer, hide=self._http.hide)
            read, written = token_usage(answer)
            failure: LabelFailure = "" if said.content.strip() and not said.calls else "refused"
            paid.append(LabelReply(text=said.content, failure=failure, read=int(read), written=int(written)))
        except RefusedError as error:
            if not error.one_question:
                raise
            failure = "too_long" if error.above_context else "refused"
            paid.append(LabelReply(text=f"HTTP {error.status}: {error}", failure=failure))
        return paid[-1], answer
