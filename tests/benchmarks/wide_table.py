"""The table that uploads are measured with: the members' columns and five further ones, ten in all."""

from __future__ import annotations

import numpy as np

from app.samples.members import CASE_STUDY_ENTITIES, SEED, Columns, generate


def wide_table(n_members: int, seed: int = SEED) -> Columns:
    """The members with what the census says of them, and the day on which each joined."""
    sample = generate(n_members, max(n_members, CASE_STUDY_ENTITIES), seed)
    is_member = np.isin(sample.census["person_id"], sample.members["member_id"])
    further = {name: sample.census[name][is_member] for name in ("age", "gender", "zip", "education")}
    days = np.arange("2010-01-01", "2020-01-01", dtype="datetime64[D]").astype(str).astype(object)
    joined = days[np.random.default_rng(seed).integers(0, len(days), n_members)]
    return {**sample.members, **further, "joined": joined}
