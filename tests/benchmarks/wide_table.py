"""The table that uploads are measured with: the members' columns and five further ones, ten in all."""

from __future__ import annotations

import numpy as np

from app.samples.members import CASE_STUDY_ENTITIES, SEED, Columns, generate


def wide_table(n_members: int, seed: int = SEED) -> Columns:
    """The members with what the census says of them, and the day on which each joined."""
    sample = generate(n_members, max(n_members, CASE_STUDY_ENTITIES), seed)
    members = set(sample.members["member_id"])  # np.isin compares each object with each other
    is_member = np.array([person in members for person in sample.census["person_id"]])
    further = {name: sample.census[name][is_member] for name in ("age", "gender", "zip", "education")}
    days = np.arange("2010-01-01", "2020-01-01", dtype="datetime64[D]").astype(str).astype(object)
    joined = days[np.random.default_rng(seed).integers(0, len(days), n_members)]
    return {**sample.members, **further, "joined": joined}
