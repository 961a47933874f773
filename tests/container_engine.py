"""A container engine that pretends: it speaks as much of Docker's API as Testcontainers asks for.

A container of any image is a server of this checkout with the environment that it was created with,
and the port that the image exposes is mapped to that of the server.
"""

import json
import os
import re
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests import warm

EXPOSED = "4111/tcp"
CREATED = "2026-01-01T00:00:00Z"
NETWORK = {"NetworkID": "0", "Aliases": [], "Gateway": "127.0.0.1", "IPAddress": "127.0.0.1"}
START_SECONDS = 30


@dataclass
class Container:
    """What was asked for, and the process once it is started."""

    name: str
    asked: dict[str, Any]
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server with the environment of the container; wait until it listens."""
        given = dict(one.split("=", 1) for one in self.asked.get("Env") or [])
        own = {"MOCKSERVER_PORT": "0", "MOCKSERVER_PORT_FILE": str(self.folder / "port")}
        with (self.folder / "log").open("wb") as log:
            words = [*warm.python(), "-m", "mockserver"]
            self.process = subprocess.Popen(
                words, env={**os.environ, **given, **own}, stdout=log, stderr=log
            )
        end = time.monotonic() + START_SECONDS
        while not (self.folder / "port").exists() and time.monotonic() < end:
            time.sleep(0.02)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def shown(self) -> dict[str, Any]:
        """As the engine describes it."""
        running = self.process is not None and self.process.poll() is None
        port = (self.folder / "port").read_text().strip() if running else ""
        mapped = {EXPOSED: [{"HostIp": "127.0.0.1", "HostPort": port}]} if running else {}
        state = {
            "Status": "running" if running else "created",
            "Running": running,
            "StartedAt": CREATED,
        }
        return {
            "Id": self.name,
            "Name": f"/{self.name}",
            "Created": CREATED,
            "Image": self.asked["Image"],
            "State": {**state, "ExitCode": 0, "FinishedAt": CREATED},
            "Config": {"Hostname": self.name, "Labels": {}, "Env": [], **self.asked},
            "HostConfig": {"PortBindings": {}, **self.asked.get("HostConfig", {})},
            "NetworkSettings": {"Ports": mapped, "Networks": {"bridge": NETWORK}},
            "Mounts": [],
        }


@dataclass
class Engine:
    """What it has, and every request that it could not answer."""

    folder: Path
    containers: dict[str, Container] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and body of the answer."""
        kind, _, rest = path.removeprefix("/").partition("/")
        fixed: dict[str, Any] = {
            "_ping": "OK",
            "version": {
                "Version": "27.0.0",
                "ApiVersion": "1.45",
                "MinAPIVersion": "1.24",
                "Os": "linux",
            },
            "info": {
                "ServerVersion": "27.0.0",
                "OperatingSystem": "pretended",
                "Labels": [],
                "IndexServerAddress": "",
            },
        }
        if kind in fixed:
            return 200, fixed[kind]
        if kind == "images":
            image = {
                "Id": "sha256:0",
                "RepoTags": [rest.removesuffix("/json")],
                "Architecture": "amd64",
            }
            ports = {"ExposedPorts": {EXPOSED: {}}}
            return 200, {
                **image,
                "Config": ports,
                "ContainerConfig": ports,
            } if rest != "json" else [image]
        if (method, path) == ("POST", "/containers/create"):
            name = f"{len(self.containers) + 1:064x}"
            (self.folder / name).mkdir()
            self.containers[name] = Container(name, body, self.folder / name)
            return 201, {"Id": name, "Warnings": []}
        if (method, path) == ("GET", "/containers/json"):
            return 200, [one.shown() for one in self.containers.values()]
        if (method, path) == ("GET", "/networks"):
            return 200, []
        name, _, verb = rest.partition("/")
        container = self.containers.get(name) if kind == "containers" else None
        if container is None:
            self.strange.append(f"{method} {path}")
            return 404, {"message": "no such thing here"}
        if verb == "logs":
            said = (container.folder / "log").read_bytes()
            return 200, struct.pack(">BxxxI", 1, len(said)) + said
        if (method, verb) == ("GET", "json"):
            return 200, container.shown()
        if (method, verb) == ("POST", "start"):
            container.start()
        elif method == "DELETE" or verb in ("stop", "kill"):
            container.stop()
        else:
            self.strange.append(f"{method} {path}")
        return 204, b""


@contextmanager
def engine() -> Iterator[tuple[str, Engine]]:
    """An engine at an address of the loopback, for ``DOCKER_HOST``. All containers end with it."""
    with tempfile.TemporaryDirectory() as folder:
        own = Engine(Path(folder))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """Every request."""
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = re.sub(r"^/v1\.\d+", "", unquote(urlsplit(self.path).path))
                status, body = own.answer(self.command, path, json.loads(raw) if raw else {})
                sent = (
                    body
                    if isinstance(body, bytes)
                    else body.encode()
                    if body == "OK"
                    else json.dumps(body).encode()
                )
                self.send_response(status)
                self.send_header("api-version", "1.45")
                self.send_header("content-type", "application/json")
                if status != 204:
                    self.send_header("content-length", str(len(sent)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(sent)

            do_POST = do_DELETE = do_HEAD = do_PUT = do_GET

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"tcp://127.0.0.1:{server.server_port}", own
        finally:
            for container in own.containers.values():
                container.stop()
            server.shutdown()
            server.server_close()
