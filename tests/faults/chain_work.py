"""Work that takes a while and whose result shows every byte of every block: chains of hashes."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import NotSupported
from app.domain.search.budget import never
from app.services.fingerprints import sha256_of
from app.services.resources import Kind, NewResource
from app.services.runs.run_execution import Conclusion

LINKS_PER_UNIT = 2_000
UNIT_SECONDS = 0.015
"""How long a unit lasts, most of which is waited, so that what watches the run gets a processor."""
UNGATED = 2
"""Blocks that no gate holds up."""
GATE_SECONDS = 100.0


@dataclass(frozen=True)
class HashChains:
    """``n_blocks`` chains of ``units_per_block`` · LINKS_PER_UNIT hashes each, UNIT_SECONDS a unit.

    All but the first two wait until the file ``gate`` is there, if one is named: so that what is to happen
    in the middle does.
    """

    name: str
    n_blocks: int
    units_per_block: int
    gate: str = ""

    @property
    def units(self) -> int:
        return self.n_blocks * self.units_per_block

    seconds = 0.0
    time_limit = None

    def run_block(self, index: int, tick, halted=never) -> bytes:
        digest, deadline = f"block {index}".encode(), time.monotonic() + GATE_SECONDS
        while self.gate and index >= UNGATED and not halted() and not Path(self.gate).exists():
            assert time.monotonic() < deadline, "nobody has opened the gate"
            time.sleep(0.02)
        for unit in range(self.units_per_block):
            if halted():
                return b""
            time.sleep(UNIT_SECONDS)
            digest = _linked(digest, LINKS_PER_UNIT)
            tick(unit + 1)
        return digest

    def undisturbed(self, index: int) -> bytes:
        """What :meth:`run_block` gives, at once."""
        return _linked(f"block {index}".encode(), self.units_per_block * LINKS_PER_UNIT)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The blocks that are finished, and the rule named after them if these are all."""
        finished = {index: block for index, block in blocks.items() if block}
        result = {"digests": [finished[index].hex() for index in sorted(finished)]}
        if len(finished) < self.n_blocks:
            return Conclusion(result, reproducible=False)
        return Conclusion(result, NewResource(Kind.RULE, self.name, sha256_of(result), {}, result))


@dataclass(frozen=True)
class FaultyChains(HashChains):
    """Chains of which block 0 fails as ``fault`` says."""

    fault: str = "refuses"

    def run_block(self, index: int, tick, halted=never) -> bytes:
        if index == 0:
            match self.fault:
                case "refuses":
                    raise NotSupported("No chain begins with 0.", "Begin with 1.")
                case "takes memory":
                    return bytes(2**40)
                case "dies":
                    os._exit(1)
        return super().run_block(index, tick, halted)


def _linked(digest: bytes, links: int) -> bytes:
    for _ in range(links):
        digest = hashlib.sha256(digest).digest()
    return digest
