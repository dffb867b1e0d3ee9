"""Single changes to the product, each of which breaks what it says or does.

A change is found by its text, wherever that stands: it must occur once in the whole of ``app``. The tests
that are to notice it are named by the beginnings of their files' names, wherever they stand below ``tests``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[2]


class Change(NamedTuple):
    """What is replaced by what, and the files of tests that must notice it."""

    text: str
    becomes: str
    tests: tuple[str, ...]


@cache
def sources() -> dict[Path, str]:
    """The text of every file of the product."""
    return {path: path.read_text() for path in sorted((TOP / "app").rglob("*.py"))}


def place_of(change: Change) -> Path:
    """The only file that has the change's text, once."""
    found = [path for path, text in sources().items() for _ in range(text.count(change.text))]
    if len(found) != 1:
        raise LookupError(f"{change.text!r} stands in {len(found)} places of the product")
    return found[0]


def files_of(change: Change) -> list[str]:
    """The files of tests that are to notice it."""
    found = {name: list((TOP / "tests").rglob(f"{name}*.py")) for name in change.tests}
    if not all(found.values()):
        raise LookupError(f"no file of tests is named {[name for name in found if not found[name]]}")
    return sorted({str(path) for paths in found.values() for path in paths})


CHANGES = (
    # Query views
    Change("left &= set(determining)", "left = set(determining)", ("test_vectors",)),
    Change(
        "all(equal.merge_rows(first, own.body[place], range(len(first.terms)))", "all(True", ("test_vectors",)
    ),
    Change("elif term not in query.may_be_null and may_be_null(target):", "elif False:", ("test_vectors",)),
    Change(
        'if verdict is not None and verdict.verdict == "PRIVATE":',
        "if verdict is not None:",
        ("test_view_advice",),
    ),
    Change("fine &= (sets & both) != both", "fine &= sets >= 0", ("test_leakage",)),
    Change("held = (sets & mask) == mask", "held = (sets & mask) > 0", ("test_view_advice",)),
    # Attacks on releases that were drawn
    Change("expected < own.elsewhere)", "expected < 0)", ("test_reconstructed_shares",)),
    Change("(factors[groups] + 0.5)", "factors[groups]", ("test_scale_attack",)),
    Change("counts.sizes > asked.least_limit", "counts.sizes > 0", ("test_scale_attack",)),
    Change("counts.sizes // asked.least_sample", "counts.sizes", ("test_scale_attack",)),
    Change("found & ~self._is_blank[groups]", "found", ("test_micro_reconstruction",)),
    Change(
        "for own in (times * sizes, squares))", "for own in (sizes, squares))", ("test_reconstructed_shares",)
    ),
    Change("dtype=np.float64) < BY_CHANCE", "dtype=np.float64) <= 1", ("test_scale_attack",)),
    Change(
        "(own.number == 1) & (own.is_exact",
        "(own.number >= 1) & (own.is_exact",
        ("test_micro_reconstruction",),
    ),
    Change("0.5 * np.exp(-records) - both, both)", "0.5 * np.exp(-records), both)", ("test_ratio_attack",)),
    Change(
        "request.independent_of_earlier or leaks",
        "request.independent_of_earlier",
        ("test_mechanism_releases",),
    ),
    # Risk and utility
    Change(
        "where=np.asarray(counts) > 0)",
        "where=np.asarray(counts) > 1)",
        ("test_risk_models", "test_assessment"),
    ),
    Change(
        "return counts + 1 - own_consistent",
        "return counts - own_consistent",
        ("test_assessment", "test_risk_models"),
    ),
    Change(
        "at_stake = (count > 0) & (harm > 0)", "at_stake = (count > 0) | (harm > 0)", ("test_risk_models",)
    ),
    Change(
        "exact_sum(values * records) / total",
        "exact_sum(values) / total",
        ("test_assessment", "test_large_reductions"),
    ),
    Change(
        "level * total - SHARE_TOLERANCE",
        "level * total + SHARE_TOLERANCE",
        ("test_assessment", "test_large_reductions"),
    ),
    Change(
        "self._link.everything[codes] | (nodes == TOP), alone",
        "self._link.everything[codes], alone",
        ("test_record_linkage",),
    ),
    Change(
        "abs(math.fsum(self.prior) - 1) > PRIOR",
        "(math.fsum(self.prior) - 1) > PRIOR",
        ("unit/**/test_attackers",),
    ),
    Change("if values[c] < values[p]", "if values[c] <= values[p]", ("unit/**/test_utility",)),
    # Counting
    Change(
        "(nodes == TOP) | self.link.everything[codes]",
        "(nodes == TOP)",
        ("test_counting", "test_consistency"),
    ),
    Change(
        "classes.of_node >= 0, classes.of_node + 1",
        "classes.of_node > 0, classes.of_node + 1",
        ("test_counting", "test_domain_counting"),
    ),
    Change(
        "possible &= column != NONE", "possible |= column != NONE", ("test_counting", "test_domain_counting")
    ),
    Change(
        "np.uint64((1 << (n_members % 64)) - 1)", "np.uint64(1 << (n_members % 64))", ("test_entity_bits",)
    ),
    Change("minlength=size) == 0)[level + 1]", "minlength=size) == 0)[level]", ("test_roll_ups",)),
    # Privacy models
    Change(
        "return self.sizes < k",
        "return self.sizes <= k",
        ("test_anonymity_search", "test_least_loss_criteria"),
    ),
    Change(
        "people_of(judged) < self.k",
        "people_of(judged) <= self.k",
        ("test_population_criteria", "test_wildcard_search"),
    ),
    Change(
        "lowest_accepted(self.lower) > 0",
        "lowest_accepted(self.lower) >= 0",
        ("test_population_criteria", "test_least_loss_criteria"),
    ),
    Change(
        "distinct_values(counts) < self.l", "distinct_values(counts) <= self.l", ("test_diversity_criteria",)
    ),
    Change("(k - 1) * most", "(k - 2) * most", ("test_persons",)),
    Change("self.criterion.implied_by_persons(whole)", "self.criterion.implied(whole)", ("test_persons",)),
    Change(
        "np.where(shared, 1, np.minimum(counts.distinct, counts.sizes))",
        "np.minimum(counts.distinct, counts.sizes)",
        ("test_persons", "test_visits"),
    ),
    Change(
        'self.bound == "enhanced" and gains.breaks_cap.any()',
        "gains.breaks_cap.any()",
        ("test_closeness_criteria", "test_gains"),
    ),
    Change(
        "counts) | (judged.sizes < self.k)", "counts) & (judged.sizes < self.k)", ("test_diversity_criteria",)
    ),
    Change(
        "missing = lacking_records(table.codes, known, grouping.missing) & ~left_out",
        'missing = lacking_records(table.codes, known, "own_category") & ~left_out',
        ("test_class_suppression", "test_found_rules_as_measured"),
    ),
    Change(
        "missing = (table.is_missing(j) & ~is_suppressed)[kept]",
        "missing = (shows_nothing(disclosed[:, j]) & ~is_suppressed)[kept]",
        ("test_masks",),
    ),
    Change(
        "found &= shows_nothing(disclosed[:, j])", "found |= shows_nothing(disclosed[:, j])", ("test_masks",)
    ),
    Change(
        "if self.rho_1 >= self.rho_2:",
        "if self.rho_1 > self.rho_2:",
        ("test_posterior", "unit/**/test_population_criteria"),
    ),
    Change(
        'suppressed & ~left_out if judged_as == "own_block"',
        'suppressed if judged_as == "own_block"',
        ("test_readings", "test_one_judge"),
    ),
    Change(
        "not failing.any() and not (without",
        "not failing.any() or not (without",
        ("test_delta_presence", "test_population_models"),
    ),
    # Gates
    Change(
        'if not found or "not_computable" in blocking:',
        'if "not_computable" in blocking:',
        ("test_gate_of_found_rules",),
    ),
    Change(
        "return min(parts, key=lambda part:",
        "return max(parts, key=lambda part:",
        ("test_gate_of_found_rules",),
    ),
    Change(
        "min(found, key=np.count_nonzero) | shown",
        "max(found, key=np.count_nonzero) | shown",
        ("test_gate_of_found_rules",),
    ),
    Change(
        "return (value - lower) / abs(value)",
        "return (value - lower) / (2 * abs(value))",
        ("test_gaps_of_blocks",),
    ),
    # Searches
    Change(
        "pair.suppressed > judge.allowed - judge.left_out",
        "pair.suppressed >= judge.allowed - judge.left_out",
        ("test_anonymity_search",),
    ),
    Change("self._counts) < k)[keys]", "self._counts) <= k)[keys]", ("test_anonymity_search",)),
    Change("int(sizes[sizes < k].sum())", "int(sizes[sizes <= k].sum())", ("test_anonymity_search",)),
    Change(
        "lower = max(outcome.bounds.lower for",
        "lower = min(outcome.bounds.lower for",
        ("test_unknown_attackers",),
    ),
    Change(
        "or nodes.risk(node) < nodes.risk(self.incumbent)",
        "or nodes.risk(node) > nodes.risk(self.incumbent)",
        ("test_lattice_searches", "test_search_against_brute_force"),
    ),
    Change(
        "wanted - utility[after - 1] < utility[after] - wanted",
        "wanted - utility[after - 1] > utility[after] - wanted",
        ("test_frontier", "test_lattice_searches"),
    ),
    Change(
        "max(1, self.max_nodes // searches)",
        "max(1, self.max_nodes)",
        ("test_unknown_attackers", "test_chain_plans"),
    ),
    Change("lost = (totals - offset) / scale", "lost = totals / scale", ("test_anonymity_search",)),
    # Access
    Change("if scope not in actor.scopes:", "if not actor.scopes:", ("test_tenants",)),
    Change(
        "if key.revoked_at is not None:",
        "if key.revoked_at is not None and key.revoked_at > now:",
        ("test_tenants",),
    ),
    Change(
        "key.expires_at is not None and key.expires_at <= now",
        "key.expires_at is not None and key.expires_at < now",
        ("test_tenants",),
    ),
    # Ingest
    Change(
        "if self.received > self._limits.max_bytes:",
        "if self.received >= self._limits.max_bytes:",
        ("test_uploads", "test_hostile_uploads"),
    ),
    Change(
        "if self._started and not self._inflate.eof:",
        "if self._started and self._inflate.eof:",
        ("test_uploads", "test_hostile_uploads"),
    ),
    Change(
        "lengths > limits.max_cell_bytes",
        "lengths >= limits.max_cell_bytes",
        ("test_uploads", "test_hostile_uploads"),
    ),
    Change("self._spent + now + self.spent_by_child >", "self._spent + now >", ("test_hostile_uploads",)),
    # Differential privacy
    # Private samples
    Change(
        "np.asarray(counts + noise >= found.threshold)",
        "np.asarray(counts >= found.threshold)",
        ("test_sampled_generalisation",),
    ),
    Change("paid = asked.rate * math.exp(drift)", "paid = asked.rate", ("test_sampled_generalisation",)),
    Change(
        "high += low >> _LOW",
        "high += 0 * low",
        ("test_sampled_generalisation",),
    ),
    Change(
        "counts = published_counts(of_cells, noise, parameters.threshold)",
        "counts = published_counts(of_cells, noise * 0, parameters.threshold)",
        ("test_private_histograms",),
    ),
    Change(
        "is_better = worth > self.greatest[rows]",
        "is_better = worth >= self.greatest[rows]",
        ("test_private_choices",),
    ),
    Change(
        "sizes = np.bincount(of_row, minlength=len(first))",
        "sizes = np.bincount(of_row, minlength=len(first)) + 1",
        ("test_private_choices",),
    ),
    Change(
        "noise = two_sided_geometric(len(cells), parameters.law.epsilon, bits)",
        "noise = two_sided_geometric(len(cells), parameters.law.epsilon * 2, bits)",
        ("test_private_histograms",),
    ),
    Change(
        "found = clipped(counts, two_sided_geometric(cells, parameters.law.epsilon, bits))",
        "found = clipped(counts, two_sided_geometric(cells, parameters.law.epsilon * 2, bits))",
        ("test_private_histograms",),
    ),
    Change(
        "noise, parameters.threshold)",
        "noise, parameters.threshold - 1)",
        ("test_private_histograms",),
    ),
    Change("noisy[noisy < threshold] = 0", "noisy[noisy < threshold - 1] = 0", ("test_private_histograms",)),
    # Evidence and waivers
    Change(
        "if request.until < self._clock().date():",
        "if request.until <= self._clock().date():",
        ("test_waivers",),
    ),
    Change("!= judged.policy.name or not named:", "!= judged.policy.name and not named:", ("test_waivers",)),
    Change(
        'self.key.proves_origin and self.statement.signed_by != "temporary"',
        'self.key.proves_origin or self.statement.signed_by != "temporary"',
        ("test_verification",),
    ),
    Change("if not key.was_valid(issued_at):", "if key.was_valid(None):", ("test_verification",)),
    Change("if payload_type != PAYLOAD_TYPE:", "if not payload_type:", ("test_verification",)),
    Change(
        'content.decode("utf-8"), object_pairs_hook=_without_repeats,',
        'content.decode("utf-8"),',
        ("test_verification",),
    ),
)
