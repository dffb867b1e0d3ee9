"""Who asks, and by which scheme, is believed to nobody but the proxies that were named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn

from app.composition.serving import believed_proxies
from app.settings import Settings


def seen(settings: Settings, proxy: str) -> tuple[str, str]:
    """Client and scheme as the application sees them, of a request that this proxy forwards."""
    met: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        met.append((scope["client"][0], scope["scheme"]))

    config = uvicorn.Config(
        app,
        forwarded_allow_ips=believed_proxies(settings.trusted_proxies),
        log_config=None,
        interface="asgi3",
    )
    config.load()
    headers = [(b"x-forwarded-for", b"8.8.8.8"), (b"x-forwarded-proto", b"https")]
    scope = {"type": "http", "client": (proxy, 1), "scheme": "http", "headers": headers}
    asyncio.run(config.loaded_app(scope, None, None))
    return met[0]


@pytest.mark.parametrize(
    ("named", "proxy", "believed"),
    [
        (None, "127.0.0.1", True),
        (None, "::1", True),
        (None, "172.18.0.5", False),
        ("172.18.0.0/16,10.0.0.7", "172.18.0.5", True),
        ("172.18.0.0/16,10.0.0.7", "10.0.0.7", True),
        ("172.18.0.0/16,10.0.0.7", "10.0.0.8", False),
        ("172.18.0.0/16,10.0.0.7", "127.0.0.1", False),
    ],
)
def test_only_named_proxies_are_believed(named, proxy, believed, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    if named is not None:
        monkeypatch.setenv("PRIVACY_RISK_TRUSTED_PROXIES", named)
    assert seen(Settings(), proxy) == (("8.8.8.8", "https") if believed else (proxy, "http"))
