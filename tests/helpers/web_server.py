"""A real server on a free loopback port that answers as badly as it is told to."""

import contextlib
import gzip
import json
import socketserver
import threading


def answer(status="200 OK", kind="text/plain", body=b"", headers=()):
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def endless(head, part):
    def parts(stop):
        yield head
        while not stop.is_set():
            yield part

    return parts


def drip(text):
    def parts(stop):
        for byte in text:
            yield bytes([byte])
            if stop.wait(0.05):
                return

    return parts


def silence(stop):
    stop.wait(30)
    yield b""


PAGES = {
    "/hello": answer(body=b"hello"),
    "/page": answer(kind="text/html", body=b"<h1>Kemi</h1><p>A town on the <a href='/arn'>arn</a>."),
    "/json": answer(kind="application/json", body=b'{"a":[1,2]}'),
    "/image": answer(kind="image/png", body=b"\x89PNG\x00"),
    "/gone": answer("404 Not Found", body=b"no such town"),
    "/broken": answer("500 Oops", body=b""),
    "/gzip": answer(body=gzip.compress(b"packed " * 10), headers=["Content-Encoding: gzip"]),
    "/bomb": answer(body=gzip.compress(b"\x30" * 50_000_000), headers=["Content-Encoding: gzip"]),
    "/brotli": answer(body=b"\x0b\x02", headers=["Content-Encoding: br"]),
    "/notgzip": answer(body=b"hello", headers=["Content-Encoding: gzip"]),
    "/long": answer(body=b"x" * 30_000),
    "/endless": endless(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"y" * 4096),
    "/headers": endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"z" * 4000 + b"\r\n"),
    "/header": endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"z" * 4000),
    "/slow-head": drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello" + b"x" * 500),
    "/slow-body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b"x" * 500),
    "/silence": silence,
    "/garbage": b"\x00\xff\x13 not http at all\r\n\r\n",
    "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/loop": answer("302 Found", headers=["Location: /open/loop"]),
    "/near": answer("302 Found", headers=["Location: hello"]),
    "/metadata": answer("302 Found", headers=["Location: http://169.254.169.254/latest/meta-data"]),
    "/file": answer("302 Found", headers=["Location: file:///etc/passwd"]),
    "/outside": answer("302 Found", headers=["Location: /secret"]),
    "/user": answer("302 Found", headers=["Location: http://user:pass@127.0.0.1/"]),
    "/odd": answer("302 Found", headers=["Location: http://[::1"]),
    "/303": answer("303 See Other", headers=["Location: echo"]),
    "/307": answer("307 Again", headers=["Location: echo"]),
}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            byte = self.rfile.read(1)
            if not byte:
                return
            head += byte
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = self.rfile.read(int(headers.get("content-length", 0))).decode()
        self.server.seen.append((lines[0], headers, body))
        path = lines[0].split(" ")[1].removeprefix("/open")
        if path == "/echo":
            content = json.dumps({"line": lines[0], "headers": headers, "body": body}).encode()
            page = answer(kind="application/json", body=content)
        elif path.startswith("/go?"):  # where the query says, and what it says of the key
            to = path.removeprefix("/go?").replace("KEY", headers.get("x-key", "none"))
            page = answer("302 Found", headers=[f"Location: {to}"])
        elif path.startswith("/tell?"):  # the key, everywhere
            key = headers.get("x-key", "none")
            page = answer(f"{path.removeprefix('/tell?')} {key}", kind=f"image/{key}", body=key.encode())
        elif path.startswith("/pad?"):  # so many letters, then the key
            page = answer(body=b"x" * int(path.removeprefix("/pad?")) + headers.get("x-key", "none").encode())
        else:
            page = PAGES.get(path, answer("200 OK", body=b"the treasure"))
        self.send(page(self.server.stop) if callable(page) else [page])

    def send(self, parts):
        with contextlib.suppress(OSError):
            for part in parts:
                self.wfile.write(part)
                self.wfile.flush()


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.stop = [], threading.Event()
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def end(self):
        self.stop.set()
        self.shutdown()
        self.server_close()
