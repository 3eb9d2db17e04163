"""A small server with the vLLM routes that handaxe uses, over LocalEngine: real HTTP, weights from files, faults on
demand. `make test-vllm` tests vLLM."""

import asyncio
import base64
import json
import threading
import time

import torch
import uvicorn
from safetensors.torch import load_file
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from handaxe.core.images import Image
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Partial, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.vllm_http import REQUEST_PREFIX


class SmallVllm:
    """Implements `RunningServer` in this process; a stopped server does not answer.

    Attributes:
        faults: by path: an HTTP status to answer with, or "die".
        stale: part of the names of weights that updates skip.
        pace: seconds a token.
        asleep: memory that is discarded, "weights" and "kv_cache"; discarded weights are NaN.
        paths: of the received requests, in order.
        images: by digest, with the server's caches.
        image_bytes: encoded bytes of each image received, in order.
        image_delay: seconds from receiving an image until it is in the cache.
        resized: longest side to which the server resizes images; 0 for unchanged images.
    """

    def __init__(self, model, *, faults=(), stale="", pace=0.0, silent=False):
        self.engine = LocalEngine(model)
        self.faults = dict(faults)
        self.stale = stale
        self.pace = pace
        self.silent = silent
        self.paths = []
        self.labels = {0: "default"}
        self.paused = False
        self.file = None
        self.stream = self.engine.stream()
        self.waiting = {}
        self.asleep = set()
        self.images = {}
        self.image_bytes = []
        self.image_delay = 0.0
        self.resized = 0
        self.lock, self.ended = threading.Lock(), threading.Event()
        routes = [Route("/{path:path}", self._reply, methods=["GET", "POST"])]
        self._server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=0, log_level="critical"))
        threading.Thread(target=self._server.run, daemon=True).start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        threading.Thread(target=self._step, daemon=True).start()

    def alive(self):
        return not self.ended.is_set()

    def tail(self):
        return "the last words"

    def stop(self):
        self.ended.set()
        self._server.force_exit = self._server.should_exit = True

    def _step(self):
        while not self.ended.is_set():
            with self.lock:
                done = self.stream.poll() if not self.paused else ()
                for ticket, completion in done:
                    self._end(ticket, completion, completion.finish)
            time.sleep(self.pace if self.waiting else 0.002)

    def _end(self, ticket, sampled, finish):
        name = next(name for name, (each, *_) in self.waiting.items() if each == ticket)
        _, drawn, loop, future = self.waiting.pop(name)
        fields = [list(part)[drawn:] for part in sampled[:4]]
        loop.call_soon_threadsafe(lambda: future.done() or future.set_result((*fields, finish)))

    async def _reply(self, request):
        path = request.url.path
        self.paths.append(path)
        raw = await request.body()
        body = json.loads(raw) if raw else {}
        fault = self.faults.get(path)
        if self.silent:
            await asyncio.sleep(60)
        if fault == "die":
            self.stop()
            await asyncio.sleep(60)
        if fault:
            return JSONResponse({"error": f"fault {fault}"}, fault)
        if path == "/inference/v1/generate":
            return await self._generate(body)
        with self.lock:
            return self._control(path, request.query_params, body)

    def _control(self, path, query, body):
        if path == "/inference/v1/abort_requests":
            for name in body["request_ids"]:
                if name in self.waiting:
                    ticket = self.waiting[name][0]
                    self._end(ticket, self.stream.interrupt(ticket), "abort")
            return Response(status_code=200)
        if path == "/pause":
            assert query["mode"] == "keep" and query["clear_cache"] == "true"
            self.paused = True
            self.images.clear()
        elif path == "/resume":
            self.paused = False
        elif path == "/sleep":
            assert query["level"] == "2" and query["mode"] == "keep"
            self.paused, self.asleep = True, {"weights", "kv_cache"}
            self.images.clear()
            with torch.no_grad():
                for parameter in self.engine.model.module.parameters():
                    parameter.fill_(torch.nan)
        elif path == "/wake_up":
            self.asleep -= {query["tags"]} if "tags" in query else self.asleep
            self.paused = bool(self.asleep)
        elif path == "/start_weight_update":
            assert self.paused, "weights must not change while requests are running"
            assert "weights" not in self.asleep, "weights need memory"
        elif path == "/update_weights":
            self.file = body["update_info"]["path"]
        elif path == "/finish_weight_update":
            loaded, parameters = load_file(self.file), dict(self.engine.model.module.named_parameters())
            assert loaded.keys() == parameters.keys()
            with torch.no_grad():
                for name, tensor in loaded.items():
                    if not self.stale or self.stale not in name:
                        parameters[name].copy_(tensor)
            self.engine.version += 1
            self.labels[self.engine.version] = body["weight_version"]
        return JSONResponse({"weight_version": self.labels[self.engine.version]})

    async def _generate(self, body):
        params, ids = body["sampling_params"], body["token_ids"]
        draws = params["extra_args"]["handaxe"]
        assert params["temperature"] == 0 and params["logprobs"] == 3 and params["ignore_eos"]
        if min(ids) < 0 or max(ids) >= self.engine.model.vocab_size:
            self.stop()  # as vLLM does
        images, prompt = (), {}
        if "content_parts" in body:
            try:
                images = await self._read_images(body["content_parts"])
            except ValueError as error:
                return JSONResponse({"error": {"message": str(error), "code": 400}}, 400)
            ids = self._expanded(ids, images)
            processor = self.engine.model.image_processor
            prompt = {"prompt_token_ids": processor.expand(ids, {image.key: image for image in images})}
            assert body["return_token_ids"] is True
        if draws["forced"]:
            with self.lock:
                assert not self.asleep
                row = Measure([*ids, *draws["forced"]], len(ids), images=tuple(images))
                logp = self.engine.measure([row])[0]["logp"]
                version = [self.engine.version] * len(logp)
            return JSONResponse(self._answer(draws["forced"], logp, logp, version, "length") | prompt)
        drawn = draws["drawn"]
        sampling = Sampling(draws["temperature"], draws["top_p"], draws["top_k"], drawn + params["max_tokens"])
        begun = Partial(ids[len(ids) - drawn :], *([0.0] * drawn for _ in range(2)), [0] * drawn)
        stop = frozenset(params["stop_token_ids"])
        seed, begins = int(draws["seed"]), ids[: len(ids) - drawn]
        sample = Sample(begins, sampling, seed, stop, prefix=begun, images=tuple(images))
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self.lock:
            ticket = self.stream.submit(sample)
            self.waiting[REQUEST_PREFIX + body["request_id"]] = (ticket, drawn, loop, future)
        return JSONResponse(self._answer(*await future) | prompt)

    async def _read_images(self, parts):
        """Images of the parts, in order, as vLLM 0.32 reads them: by digest, and refused without bytes or cache."""
        read = {}
        for part in parts:
            if part["url"] is not None:
                start, _, data = part["url"].partition(";base64,")
                assert start in ("data:image/png", "data:image/jpeg")
                self.image_bytes.append(base64.b64decode(data))
                image = Image.read(self.image_bytes[-1])
                assert image.digest == part["uuid"]
                read[image.digest] = image.resized(self.resized) if self.resized else image
        if read:
            await asyncio.sleep(self.image_delay)
        for number, part in enumerate(parts):
            if part["uuid"] not in {**read, **self.images}:
                raise ValueError(f"Cache miss for image at index {number} but data is not provided.")
        self.images |= read
        return [self.images[part["uuid"]] for part in parts]

    def _expanded(self, ids, images):
        """Ids with image tokens: each placeholder is replaced by the tokens of the next image."""
        processor = self.engine.model.image_processor
        rest, out = list(images), []
        for token in ids:
            out += processor.token_ids(rest.pop(0)) if [token] == processor.collapse([1 << 62]) and rest else [token]
        return out

    def _answer(self, ids, logp, behaviour, version, finish):
        content = []
        vocabulary = self.engine.model.vocab_size
        for token, low, high in zip(ids, logp, behaviour):
            others = [(token, 1.0), ((token + 1) % vocabulary, high), ((token + 2) % vocabulary, low)]
            top = [{"token_id": other, "logprob": value} for other, value in others]
            content.append({"token_id": token, "logprob": 1.0, "top_logprobs": top})
        spans = [{"version": self.labels[v], "start": n, "end": n + 1} for n, v in enumerate(version)]
        choice = {"token_ids": list(ids), "logprobs": {"content": content}, "finish_reason": finish}
        return {"choices": [choice | {"weight_versions": spans}]}
