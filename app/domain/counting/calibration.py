"""What single operations cost, in seconds of processor time and bytes: what estimates of searches rest on.

Each number was fitted to times measured on two cores. For rules of least loss and recodings the tables that
were searched, and how far estimates are from what was measured, stand in ``search.full_domain.estimates`` and
``search.local_recoding.estimates``; how many operations a search takes is estimated beside it. These numbers
decide whether an answer is given at once, which of several ways is taken and how a run is cut in blocks;
they never decide an answer.
"""

from __future__ import annotations

from typing import Final

# Counting entities
SECONDS_PER_ORDERED_CODE: Final = 2e-8
SECONDS_PER_MARKED_BIT: Final = 3e-10
SECONDS_PER_BITSET: Final = 3e-6
SECONDS_PER_AND_OF_BITS: Final = 5e-12
SECONDS_PER_COUNT: Final = 2e-4
SECONDS_PER_CUBE_CELL: Final = 6e-9
SECONDS_PER_SORTED_KEY: Final = 3e-8
SECONDS_PER_CODE: Final = 5e-9
SECONDS_PER_ROLLED_NODE: Final = 3e-5
SECONDS_PER_SORTED_ROW: Final = 3.5e-8
SECONDS_PER_SORTED_LEVEL: Final = 1.2e-8
SECONDS_PER_DENSE_CELL: Final = 4e-9
SECONDS_PER_ENTERED_ROW: Final = 2.5e-8

# Assessments: of 155 rules of tables of 100 to 5.7 million records against 8,000 to 9.2 million distinct
# entities 95 % took 0.5 to 1.5 times of the estimate; of rules that show full dates and little else more
SECONDS_PER_RULE: Final = 1.8e-4
SECONDS_PER_RECODED_ROW: Final = 1e-8
SECONDS_PER_SORTED_RECORD: Final = 4e-8
SECONDS_PER_DISCLOSED_ROW: Final = 1.2e-7
"""Of a table-level rule per distinct row of the table, if these are sorted, and per row it discloses."""
SECONDS_PER_SHOWN: Final = 5e-5
SECONDS_PER_MATCHED_ENTITY: Final = 4e-9
SECONDS_PER_MATCHED_CODE: Final = 1.5e-9
"""Of counting for it by keys, per linked attribute that it shows, per distinct entity and both."""
SECONDS_PER_ASSESSMENT: Final = 1e-3
SECONDS_PER_SCORED_ROW: Final = 1.2e-7
SECONDS_PER_SCORED_VALUE: Final = 1.5e-8
"""Of any other rule beside counting, per record and per value of it."""
SECONDS_PER_INTERACTION: Final = 6e-9

# Risks of table-level rules
SECONDS_PER_AXIS: Final = 2e-3
SECONDS_PER_AXIS_AND_ROW: Final = 3.5e-8
"""What preparing takes per attribute, and per distinct row of the table or dictionary and attribute."""
SECONDS_PER_WALK_STATE: Final = 2e-5
SECONDS_PER_WALK_ROW: Final = 1e-8
SECONDS_PER_RATING: Final = 3e-5
SECONDS_PER_RATED_ROW: Final = 6.5e-9
SECONDS_PER_STATE: Final = 3e-5
SECONDS_PER_STATE_ROW: Final = 5e-8
SECONDS_PER_LATER: Final = 4e-5
SECONDS_PER_LATER_ROW: Final = 2e-8
"""Of rules rated one by one: per rating, per state made, and per combination of the later levels."""
SECONDS_PER_SUMMED_ROW: Final = 1e-6
SECONDS_PER_SUMMED_ROW_AND_NODE: Final = 8e-9
"""Of sums over records, by which they are chosen; what they take is below."""
SECONDS_PER_SUMMED_SHARE: Final = 4e-9
SECONDS_PER_SUMMED_ROW_AND_RULE: Final = 3e-10
SECONDS_PER_RULE_BY_ROWS: Final = 1e-4
SECONDS_PER_RULE_AND_ROW: Final = 1.2e-8
SECONDS_PER_RULE_AND_COUNTED_ROW: Final = 2e-8
SECONDS_PER_OPEN_RULE_AND_RATING: Final = 1e-9
BYTES_PER_OPEN_RULE: Final = 80

# Searches of one lattice
SECONDS_PER_VISITED_NODE: Final = 7e-6
SECONDS_PER_PATH_STEP: Final = 7e-7

# Lattices of single records
SECONDS_PER_WALKED_NODE: Final = 1e-4
SECONDS_PER_WALKED_ROW: Final = 4e-8
SECONDS_PER_COUNT_ROW: Final = 4e-8
SECONDS_PER_LATTICE_CELL: Final = 4e-8
SECONDS_PER_OTHER_LATTICE_CELL: Final = 1e-7
BYTES_PER_RECORD_AND_ATTRIBUTE: Final = 12
SECONDS_PER_SCANNED_NODE: Final = 1.5e-8
SECONDS_PER_SORTED_CELL: Final = 2e-8
SECONDS_PER_SIFTED_NODE: Final = 1.2e-8
SECONDS_PER_TAKEN_NODE: Final = 4.5e-9
SECONDS_PER_CHOSEN_RECORD: Final = 8e-6
SECONDS_PER_SWEPT_RECORD: Final = 5e-6
"""Of rules under one mean, and of a frontier."""
BYTES_PER_CHOSEN_RECORD: Final = 2_000
SECONDS_PER_SCORED_RECORD: Final = 2.2e-7
BYTES_PER_SCORED_RECORD: Final = 150
SECONDS_PER_SCORED_CELL: Final = 4e-8
SECONDS_PER_COMBINATION: Final = 1e-7
SECONDS_PER_CHAIN_RECORD: Final = 4e-3
SECONDS_PER_CHAIN_STEP_AND_ENTITY: Final = 6e-11

# The aggregate objective
SECONDS_PER_AGGREGATE_VALUE: Final = 4e-8
SECONDS_PER_READ_ENTITY: Final = 1e-7
SECONDS_PER_READ_CELL: Final = 2e-8
"""Of comparing one record with every distinct entity."""
SECONDS_PER_CLOSURE: Final = 1e-3
SECONDS_PER_CLOSURE_CELL: Final = 2e-7
SECONDS_PER_PRODUCT: Final = 5e-7
"""Of a maximum closure, its cells those of the rows that are told apart."""
SECONDS_PER_RING_FAMILY: Final = 2e-3
SECONDS_PER_PAIR_OF_STEPS: Final = 1e-6
SECONDS_PER_PAIR_OF_STEPS_AND_CELL: Final = 3e-9
"""Of a submodular minimum over a ring family, which looks at 0.8 of the pairs of steps."""
SECONDS_PER_PROGRAMME: Final = 3e-3
SECONDS_PER_PROGRAMME_AND_LINK: Final = 7e-6
"""Of one linear programme of the approximation."""
SECONDS_PER_FALLBACK: Final = 1e-4
SECONDS_PER_FALLBACK_NODE: Final = 1e-7
"""Of the exact solution of a record that the approximation does not solve."""

# Rules of least loss
SECONDS_PER_SEARCH: Final = 3e-3
SECONDS_PER_SEARCHED_ROW: Final = 4e-7
SECONDS_PER_HELD_RULE: Final = 4e-8
"""What a search takes before it checks a rule, per distinct record and per rule of the lattice."""
SECONDS_PER_CHECK: Final = 8e-5
SECONDS_PER_CHECK_AND_ROW: Final = 8e-9
SECONDS_PER_CHECK_AND_RULE: Final = 1e-9
"""Per rule checked by the sizes of its classes alone, and rule of the lattice."""
SECONDS_PER_JUDGED_ROW: Final = 1.35e-7
"""More per rule checked and distinct record, where more than the sizes of classes counts."""
BYTES_PER_HELD_RULE: Final = 100
BYTES_PER_PAIR: Final = 150
BYTES_PER_PLACE: Final = 24
"""Of a rule's key where losses are compared one after another, with what sorting them takes."""
SECONDS_PER_CLASS_LOSS_AND_ROW: Final[dict[str, float]] = {
    "discernibility": 4e-8,
    "average_class_size": 3e-8,
    "ambiguity": 8e-8,
    "kl_divergence": 7e-8,
}
"""Seconds that losses of classes take per distinct record and rule, if records may be suppressed."""
SECONDS_PER_DIVERGENCE_AND_ROW: Final = 1.6e-7
"""The same of the divergence, times the root of the share that may be suppressed: more, where few are."""
SECONDS_PER_CHECK_SUPPRESSING: Final = 1.7e-4
SECONDS_PER_SUPPRESSED_ROW: Final = 9e-9
SECONDS_PER_VALUED_ROW: Final = 2e-8
"""The same by sums of terms, per distinct record, and more of rules whose loss is worked out."""
SECONDS_PER_CHECK_AND_OPEN_RULE: Final = 3.3e-8
"""Seconds per rule checked and rule of the lattice, times the root of the share that may be suppressed."""
SECONDS_PER_RANKED_SEARCH: Final = 5e-4
SECONDS_PER_RANKED_RULE: Final = 1e-7
SECONDS_PER_RANKED_RULE_AND_PLACE: Final = 1.4e-7
"""What a search by ranks takes before it checks a rule, per rule of the lattice and place of its key."""
SECONDS_PER_RANKED_CHECK: Final = 3.3e-4
SECONDS_PER_RANKED_CHECK_AND_ROW: Final = 4.5e-8
SECONDS_PER_RANKED_CHECK_AND_RULE: Final = 1.2e-8
"""Seconds per rule checked and rule of the lattice."""
SECONDS_PER_RANKED_PLACE: Final = 6.4e-9
"""The same and place of a key but the first, times the root of the share that may be suppressed."""
SECONDS_PER_BELIEF: Final = 1e-6

# Recodings
SECONDS_PER_MOVE_STEP: Final = 2e-4
SECONDS_PER_MOVE_STEP_AND_CELL: Final = 2.8e-8
SECONDS_PER_BOUND_CELL: Final = 1e-6
SECONDS_PER_BOUND_LEVEL: Final = 4e-5
SECONDS_PER_BOUND_LEVEL_AND_RECORD: Final[dict[str, float]] = {
    "discernibility": 0.0,
    "average_class_size": 0.0,
    "height": 0.0,
    "ambiguity": 4e-8,
    "kl_divergence": 4e-8,
}
"""Seconds that a bound takes per level vector of a group of attributes and distinct record."""
SECONDS_PER_BOUND_LEVEL_AND_CELLS: Final = 2.5e-8
"""The same of sums over cells."""
BYTES_PER_KEPT_RECORD: Final = 16
"""Of a record at levels of half of its attributes: its costs and groups, and those of its values there."""
SECONDS_PER_CLASS_AND_ENTITY: Final = 2e-9
"""Estimated time of counting one class, per distinct entity of the population."""
