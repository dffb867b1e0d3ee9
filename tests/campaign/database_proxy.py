"""A way to PostgreSQL that can be made to stand still: what is sent arrives only once it goes on."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

_SOCKET: Final = ".s.PGSQL.5432"
_PIECE: Final = 65536


class DatabaseProxy:
    """Forwards connections to the server whose socket is in the folder ``sockets``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sockets: Path | None = None
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _SOCKET))
        self._listener.listen(200)
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url: str) -> str:
        """The address of a database by way of this proxy."""
        parts = urlsplit(url)
        self._sockets = Path(parse_qs(parts.query)["host"][0])
        return urlunsplit(parts._replace(query=f"host={self._folder}"))

    def freeze(self) -> None:
        """Let nothing through in either direction; connections stay open."""
        self._flows.clear()

    def thaw(self) -> None:
        """Let everything through that waits, and what follows."""
        self._flows.set()

    def close(self) -> None:
        """Accept no more connections."""
        self._flows.set()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._flows.wait()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str((self._sockets or self._folder) / _SOCKET))
                except OSError:
                    client.close()
                    server.close()
                    continue
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(_PIECE):
                self._flows.wait()
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()


@contextmanager
def database_proxy(folder: Path) -> Iterator[DatabaseProxy]:
    """A proxy whose socket is in this folder."""
    proxy = DatabaseProxy(folder)
    try:
        yield proxy
    finally:
        proxy.close()
