"""Servers behind the nginx configuration that ships (deploy/nginx), for measurements."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.run import ROOT, Served, free_port, pinned, sandbox

CONF = ROOT / "deploy" / "nginx" / "mockserver.conf"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The servers that answer at one address, and the proxy in front of them."""

    front: Served
    shards: tuple[Served, ...]


def conf_for(port: int, shards: Sequence[int]) -> str:
    """The shipped configuration with other ports, of one to three servers."""
    text = CONF.read_text("utf-8").replace("listen 4110;", f"listen 127.0.0.1:{port};")
    for number in (1, 2, 3):
        if number <= len(shards):
            text = text.replace(f"127.0.0.1:{4110 + number} ", f"127.0.0.1:{shards[number - 1]} ")
        else:
            text = text.replace(f"    server 127.0.0.1:{4110 + number} max_fails=0;\n", "")
    return text


@contextlib.contextmanager
def cluster(count: int, *options: str) -> Iterator[Cluster]:
    """So many servers behind nginx; nginx shares a core with the load. Raises RuntimeError without
    nginx."""
    if shutil.which("nginx") is None:
        raise RuntimeError("nginx is not installed (Debian: apt-get install nginx)")
    port = free_port()
    with ExitStack() as running:
        shards = [
            running.enter_context(
                sandbox("--public-url", f"http://127.0.0.1:{port}/s/{number}", *options)
            )
            for number in range(1, count + 1)
        ]
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        (folder / "mockserver.conf").write_text(conf_for(port, [shard.port for shard in shards]))
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;"
            f"events {{ worker_connections 1024; }}"
            f"http {{ access_log off; {paths} include {folder}/mockserver.conf; }}"
        )
        command = ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        process = subprocess.Popen(pinned(1, *command))
        running.callback(process.wait, 20)
        running.callback(process.terminate)
        front = Served(port, process, 0)
        for _ in range(1_000):
            with contextlib.suppress(OSError, RuntimeError):
                front.call("GET", "/healthz")
                break
            time.sleep(0.01)
        yield Cluster(front, tuple(shards))
