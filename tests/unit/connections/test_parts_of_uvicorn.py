"""What the server is used for beyond its interface, by name: a version without it is noticed here first."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.api.connections import BoundedConnection
from app.composition.serving import _Server

ROOT = Path(__file__).parents[3]

METHODS = {
    "__init__", "_unset_keepalive_if_required", "connection_lost", "connection_made", "data_received",
    "handle_events", "on_response_complete", "pause_writing", "resume_writing", "timeout_keep_alive_handler",
}  # fmt: skip
"""Of a connection, that are called."""

REPLACED = {"eof_received", "send_400_response"}
"""Of a connection, that the server calls and that are written anew."""

ATTRIBUTES = {
    "conn", "connections", "cycle", "flow", "loop", "timeout_keep_alive", "timeout_keep_alive_task",
    "transport",
}  # fmt: skip
OF_CYCLES = {"disconnected", "message_event", "response_complete", "response_started", "transport"}
OF_FLOWS = {"pause_reading", "read_paused", "resume_reading"}
OF_SERVERS = {"serve", "servers", "shutdown", "started", "startup"}
OPTIONS = {
    "access_log", "app", "forwarded_allow_ips", "host", "http", "log_config", "port", "server_header",
    "timeout_graceful_shutdown", "ws",
}  # fmt: skip


@pytest.fixture
def connection():
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(lambda: None, log_config=None)
    config.load()
    yield H11Protocol(config, ServerState(), {}, loop)
    loop.close()


def used_by(owner: type) -> tuple[set[str], set[str]]:
    """What a class asks of the one above it: names behind ``super()``, and others behind ``self``."""
    tree = ast.parse(inspect.getsource(owner)).body[0]
    above, self_names, made = set(), set(), set(vars(owner))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            if isinstance(node.value.func, ast.Name) and node.value.func.id == "super":
                above.add(node.attr)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            self_names.add(node.attr)
    return above, self_names - made


def behind(owner: type, name: str) -> set[str]:
    """Attributes of ``self.<name>`` that a class uses."""
    return set(re.findall(rf"self\.{name}\.(\w+)", inspect.getsource(owner)))


def test_the_lists_name_all_that_is_used():
    above, by_self = used_by(BoundedConnection)
    private = {name for name in by_self if name.startswith("_")} - METHODS
    assert above | (by_self & METHODS) == METHODS
    assert by_self - private - METHODS == ATTRIBUTES
    assert behind(BoundedConnection, "cycle") == OF_CYCLES
    assert behind(BoundedConnection, "flow") == OF_FLOWS
    above, by_self = used_by(_Server)
    assert above | {name for name in by_self if not name.startswith("_")} | {"serve"} == OF_SERVERS | {
        "__init__"
    }


def test_the_server_has_all_of_it(connection):
    assert {name for name in METHODS | REPLACED if not callable(getattr(H11Protocol, name, None))} == set()
    assert {name for name in ATTRIBUTES if not hasattr(connection, name)} == set()
    assert {name for name in OF_FLOWS if not hasattr(FlowControl, name) and name != "read_paused"} == set()
    made = inspect.getsource(RequestResponseCycle.__init__)
    assert {name for name in OF_CYCLES if f"self.{name} = " not in made} == set()
    assert "self.read_paused = " in inspect.getsource(FlowControl.__init__)
    server = uvicorn.Server(uvicorn.Config(lambda: None, log_config=None))
    assert {name for name in OF_SERVERS - {"servers"} if not hasattr(server, name)} == set()
    assert "self.servers" in inspect.getsource(uvicorn.Server.startup)
    assert OPTIONS - set(inspect.signature(uvicorn.Config).parameters) == set()


def test_the_server_calls_what_is_written_anew():
    source = inspect.getsource(inspect.getmodule(H11Protocol))
    assert {name for name in ("send_400_response", "timeout_keep_alive_handler", "handle_events")
            if f"self.{name}" not in source} == set()  # fmt: skip


def test_no_version_is_taken_that_was_not_looked_at():
    (bounds,) = re.findall(r'"uvicorn(.*)",', (ROOT / "pyproject.toml").read_text())
    least, below = (tuple(map(int, own.split("."))) for own in re.fullmatch(r">=(.*),<(.*)", bounds).groups())
    installed = tuple(map(int, uvicorn.__version__.split(".")[:2]))
    assert least <= installed < below
    assert below[1] - installed[1] == 1
