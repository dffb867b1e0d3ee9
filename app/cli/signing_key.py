"""``signing-key``: makes the pair of keys with which a pipeline signs its evidence."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.cli.operations import Operations
from app.evidence.keys import keys_bytes
from app.evidence.private_keys import private_key_pem, public_key_of


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "signing-key",
        description="Make a pair of keys: the private one, for the pipeline's secret store, and the public "
        "one, for whoever verifies. Neither file may exist.",
    )
    parser.add_argument(
        "private", type=Path, metavar="FILE", help="the private key (PEM), readable to you alone"
    )
    parser.add_argument(
        "--keys", type=Path, required=True, metavar="FILE", help="the public key, for `verify --keys`"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Make the pair and write both files; OSError if one of them exists, and then neither is left."""
    key = Ed25519PrivateKey.generate()
    public = public_key_of(key, datetime.now(UTC))
    _write_new(arguments.private, private_key_pem(key), 0o600)
    try:
        _write_new(arguments.keys, keys_bytes([public]), 0o644)
    except BaseException:
        arguments.private.unlink()
        raise
    print(f"Private key {arguments.private}: put it among the pipeline's secrets.", file=sys.stderr)
    print(f"Public key {arguments.keys}, {public.id}: give it to whoever verifies.", file=sys.stderr)
    return 0


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that does not exist yet."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink()
        raise
