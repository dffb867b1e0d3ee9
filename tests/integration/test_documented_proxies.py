"""The proxies' configuration as the documentation has it, run by the proxies themselves."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.processes import HANG_SECONDS, held_port

ROOT = Path(__file__).parents[2]
LARGE = 3 * 1024 * 1024
"""Bytes of a body that is above the 1 MiB which nginx takes by itself."""


def documented(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs/operating.md").read_text(), re.DOTALL)
    return block


class Service(ThreadingHTTPServer):
    """Takes any body and keeps what came with it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.met: list[tuple[int, dict[str, str]]] = []
        self.begun = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        service: Any = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        service.begun.set()
        taken = 0
        if headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                taken += len(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            taken = len(self.rfile.read(int(headers["content-length"])))
        service.met.append((taken, headers))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


def caddy(folder: Path, port: int, service: int) -> list[str]:
    sites = documented("caddyfile").replace("risk.example.org", f"http://127.0.0.1:{port}")
    own = f"{{\n    admin off\n}}\n{sites.replace(':8000', f':{service}')}"
    (folder / "Caddyfile").write_text(own)
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def nginx(folder: Path, port: int, service: int) -> list[str]:
    kept = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    lines = documented("nginx").replace(":8000", f":{service}")
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off;\n{kept}"
        f"server {{ listen 127.0.0.1:{port}; location / {{\n{lines}}} }} }}\n"
    )
    return ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


@contextmanager
def running(argv: list[str], port: int, folder: Path) -> Iterator[None]:
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(argv, stdout=said, stderr=said, env=environment)
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "said").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(HANG_SECONDS)


@pytest.mark.parametrize("proxy", [caddy, nginx], ids=["caddy", "nginx"])
def test_a_large_upload_passes_a_proxy_at_once_and_with_the_true_client(proxy, tmp_path):
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"{proxy.__name__} is not installed")
    service = Service()
    threading.Thread(target=service.serve_forever, daemon=True).start()
    went_on = []

    def pieces() -> Iterator[bytes]:
        yield b"x" * 65536
        went_on.append(service.begun.wait(HANG_SECONDS))
        yield b"x" * (LARGE - 65536)

    with (
        held_port() as port,
        running(proxy(tmp_path, port, service.server_port), port, tmp_path),
        httpx.Client(timeout=HANG_SECONDS) as client,
    ):
        url, forged = (
            f"http://127.0.0.1:{port}/v1/uploads",
            {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "x"},
        )
        announced = client.post(url, content=b"x" * LARGE, headers=forged)
        service.begun.clear()
        streamed = client.post(url, content=pieces(), headers=forged)
    service.shutdown()
    service.server_close()
    assert (announced.status_code, streamed.status_code) == (201, 201)
    assert went_on == [True], "the body was kept by the proxy before the service saw any of it"
    for taken, headers in service.met:
        assert taken == LARGE
        assert headers["x-forwarded-for"] == "127.0.0.1"
        assert headers["x-forwarded-proto"] == "http"


def test_the_compose_file_lets_a_proxy_be_named():
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert {"PRIVACY_RISK_PUBLIC_URL", "PRIVACY_RISK_TRUSTED_PROXIES"} <= services["api"][
        "environment"
    ].keys()
