"""An address that several processes listen on, each with a socket of its own.

The kernel spreads connections over them. On one socket for all, whoever wakes first would take all that come
at once, and keep them as long as their clients do.
"""

from __future__ import annotations

import socket

from app.domain.errors import Unavailable


def held_addresses(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, which keeps it from others and does not listen.

    Unavailable if an address is another program's, though that be a service of the same user: the kernel
    would share it between the two.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            _bound(family, kind, protocol, address, is_shared=False).close()
        return [
            _bound(family, kind, protocol, address, is_shared=True)
            for family, kind, protocol, _, address in found
        ]
    except OSError as error:
        raise Unavailable(
            f"The API cannot listen on {host}:{port}: {error.strerror}.", "Choose another address or port."
        ) from None


def at_the_address_of(held: socket.socket) -> socket.socket:
    """Another socket at the same address, to listen on."""
    return _bound(held.family, held.type, held.proto, held.getsockname(), is_shared=True)


def _bound(
    family: int, kind: int, protocol: int, address: tuple[str | int | bytes, ...], *, is_shared: bool
) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(is_shared))
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
