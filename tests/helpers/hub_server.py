"""A hub in a process: the part of the Hugging Face protocol that creates a repository and uploads files.

python hub_server.py FOLDER prints its port. Files land in FOLDER/OWNER/NAME. Tokens: "hf_goodgoodgood" may write to
the owner "me"; others get status 401. The owner "broken" gets status 500.
"""

import base64
import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOME = Path(sys.argv[1]) if __name__ == "__main__" else Path()
TOKEN = "hf_goodgoodgood"
LARGE = ".safetensors"


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):
        with (HOME / "log").open("a") as file:
            file.write(f"{self.command} {self.path}\n")

    def answer(self, status, body=None, **headers):
        text = json.dumps({} if body is None else body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def refused(self, owner=""):
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid username or password."})
        elif owner == "broken":
            self.answer(500, {"error": "the disk is full"})
        elif owner not in ("", "me"):
            self.answer(403, {"error": "You don't have the rights to create a model under this namespace"})
        else:
            return False
        return True

    def do_GET(self):
        if self.path.startswith("/api/whoami-v2"):
            return None if self.refused() else self.answer(200, {"name": "me", "type": "user"})
        found = re.fullmatch(r"/api/models/([^/]+)/([^/?]+)(?!.*/xet-).*", self.path)  # without Xet
        if found and (HOME / found[1] / found[2]).is_dir():
            return self.answer(200, {"id": f"{found[1]}/{found[2]}", "sha": "0" * 40, "siblings": [], "tags": []})
        return self.answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self):
        body = self.body()
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if self.path == "/api/repos/create":
            wanted = json.loads(body)
            owner = wanted.get("organization") or "me"
            if self.refused(owner):
                return None
            folder = HOME / owner / wanted["name"]
            if folder.is_dir():
                address = f"http://{self.headers['Host']}/{owner}/{wanted['name']}"
                return self.answer(409, {"error": "You already created this model repo", "url": address})
            folder.mkdir(parents=True)
            (folder / ".private").write_text(json.dumps(wanted))
            return self.answer(200, {"url": f"http://{self.headers['Host']}/{owner}/{wanted['name']}"})
        if self.refused():
            return None
        if found := re.fullmatch(r"/api/models/(.+)/preupload/main", self.path):
            files = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(LARGE) else "regular"} for f in files
            ]
            return self.answer(200, {"files": [{**mode, "shouldIgnore": False} for mode in modes]})
        if self.path.endswith("/info/lfs/objects/batch"):
            host, objects = self.headers["Host"], json.loads(body)["objects"]
            actions = [{**one, "actions": {"upload": {"href": f"http://{host}/store/{one['oid']}"}}} for one in objects]
            return self.answer(200, {"transfer": "basic", "objects": actions})
        if found := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
            folder = HOME / found[1]
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    (folder / value["path"]).write_bytes(base64.b64decode(value["content"]))
                elif line["key"] == "lfsFile":
                    (folder / value["path"]).write_bytes((HOME / f"{value['oid']}.stored").read_bytes())
            address = f"http://{self.headers['Host']}/{found[1]}/commit/{'1' * 40}"
            sha = {"commitOid": "1" * 40, "commitUrl": address, "hookOutput": ""}
            return self.answer(200, sha)
        return self.answer(404, {"error": f"no {self.path}"})

    def do_PUT(self):
        body = self.body()
        assert hashlib.sha256(body).hexdigest() == self.path.rpartition("/")[2]
        (HOME / f"{self.path.rpartition('/')[2]}.stored").write_bytes(body)
        self.answer(200)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print(server.server_address[1], flush=True)
    server.serve_forever()
