"""Blocks of runs on a Dask cluster: the run's side, the worker's side, and which workers are accepted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster, by the address of its scheduler, and what for."""

    address: str
    falls_back: bool
    """Whether blocks are computed here while it is away, instead of waiting for it."""
    memory_bytes: int
    """Memory that a block's process may use."""
    least_seconds: float = 2.0
    """Work estimated below stays here: starting processes and sending tables would take as long."""
