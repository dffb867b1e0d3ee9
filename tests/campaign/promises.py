"""What the service promises of itself, and what shows it: the list that docs/reliability.md has a row for
each of.

A promise names the tests of the suite that prove its cause. What no test of the suite can afford to measure
is measured by a part of the campaign; the figure of all others is what their tests say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TESTS: Final = "tests"
"""The part that runs the named tests."""


@dataclass(frozen=True)
class Promise:
    """``tests`` are files or single tests (``file::test``) below the checkout, ``part`` measures the
    figure.
    """

    id: str
    says: str
    tests: tuple[str, ...]
    part: str = TESTS


@dataclass(frozen=True)
class Group:
    """Promises of one kind, under a heading."""

    title: str
    promises: tuple[Promise, ...]


_API: Final = "tests/faults/test_api_processes.py"
_SURVIVE: Final = "tests/faults/test_runs_survive.py"
_SEARCH: Final = "tests/faults/test_search_survives.py"
_CONTAINERS: Final = "tests/unit/test_containers.py"
_EMBEDDED: Final = "tests/integration/test_embedded.py"
_CLUSTER: Final = "tests/faults/test_cluster.py"
_SUPERVISION: Final = "tests/faults/test_supervision.py"

GROUPS: Final = (
    Group("Lost processes", (
        Promise("kill-child",
                "A run whose process is killed goes on and ends with the same result, of every kind of run",
                (f"{_SURVIVE}::test_killing_the_child_then_the_worker_changes_no_byte_of_the_result",
                 f"{_SUPERVISION}::test_a_killed_child_is_noticed_at_once"), "kills"),
        Promise("kill-worker",
                "A run whose worker is killed is taken over within 15 s and ends with the same result",
                (f"{_SURVIVE}::test_a_killed_worker_loses_no_finished_block",
                 "tests/property/test_table_portfolio.py"), "kills"),
        Promise("kill-api", "Runs go on when the API is killed, and it answers again once it is started",
                (f"{_API}::test_a_killed_process_is_replaced_and_requests_go_on",),
                "kills"),
        Promise("worker-replaced", "A worker that its service sees die is replaced within 3 s",
                ("tests/faults/test_worker_replaced.py", "tests/faults/test_service_processes.py"),
                "replaced"),
        Promise("pause", "A worker that stands still for 60 s and goes on overwrites nothing",
                (f"{_SURVIVE}::test_a_worker_that_comes_back_from_a_pause_overwrites_nothing",), "pauses"),
        Promise("search-resumed",
                "A search whose process is killed goes on from what was kept, at most 60 s before, "
                "and ends with the same bytes",
                (f"{_SURVIVE}::"
                 "test_a_search_for_the_least_loss_goes_on_from_its_state_when_its_process_is_killed",
                 "tests/unit/workers/test_run_execution.py::"
                 "test_at_most_a_minute_of_a_search_is_computed_again",
                 "tests/property/test_interrupted_least_loss.py")),
        Promise("lost-three-times",
                "A run whose own process dies three times, or takes every worker with it, fails and says so",
                (f"{_SURVIVE}::test_a_run_that_takes_every_worker_with_it_fails_and_says_so",
                 f"{_SUPERVISION}::test_a_child_that_always_dies_fails_the_run_after_three_attempts")),
        Promise("draws", "A draw that is killed is finished as it was begun, and spends its budget once",
                ("tests/faults/test_killed_draws.py", "tests/faults/test_killed_spending.py")),
        Promise("uploads", "An upload that is killed leaves nothing behind",
                ("tests/faults/test_killed_uploads.py",)),
    )),
    Group("Lost machines of a cluster", (
        Promise("cluster-killed", "Workers of a cluster that are killed at random moments change no byte",
                (f"{_CLUSTER}::test_workers_killed_at_random_moments_change_no_byte",
                 f"{_CLUSTER}::test_the_bytes_are_those_of_one_process_and_nothing_is_left_behind",
                 f"{_CLUSTER}::test_the_demonstration_kills_a_worker_and_shows_the_same_bytes")),
        Promise("cluster-frozen",
                "A worker of a cluster that stands still is given up, and changes nothing when it goes on",
                (f"{_CLUSTER}::"
                 "test_a_worker_that_stands_still_is_given_up_and_changes_nothing_when_it_goes_on",)),
        Promise("cluster-disk", "A worker of a cluster whose disk is full computes as before",
                (f"{_CLUSTER}::test_a_worker_whose_disk_is_full_computes_as_before",)),
        Promise("cluster-damaged", "Work that is damaged on its way to a cluster is refused, not computed",
                (f"{_CLUSTER}::test_work_that_is_damaged_on_its_way_is_refused",)),
        Promise("cluster-away", "A scheduler that is absent, dies or is restarted loses no finished block",
                (f"{_CLUSTER}::test_a_cluster_that_is_absent_or_restarted_is_waited_for",
                 f"{_CLUSTER}::test_a_cluster_without_workers_is_left_where_that_is_allowed",
                 f"{_CLUSTER}::test_a_run_begins_on_a_cluster_and_ends_without_one")),
        Promise("cluster-refused",
                "A worker with other code or libraries, or that would write to its disk, is refused by name",
                (f"{_CLUSTER}::"
                 "test_a_worker_of_another_version_is_refused_by_name_and_others_do_its_work",
                 f"{_CLUSTER}::test_a_worker_that_would_write_to_its_disk_is_refused")),
        Promise("cluster-encrypted",
                "What travels to a cluster is encrypted, and goes to holders of its certificates alone",
                (f"{_CLUSTER}::"
                 "test_what_travels_is_encrypted_between_those_with_certificates_of_one_authority",)),
        Promise("cluster-failing", "A block that always fails is told with its reason, and others go on",
                (f"{_CLUSTER}::"
                 "test_a_block_that_always_fails_is_told_with_its_reason_once_all_others_are_given",)),
        Promise("cluster-freed", "A run that is cancelled or stopped frees the cluster within 2 s",
                (f"{_CLUSTER}::test_a_cancelled_run_frees_the_cluster",
                 f"{_CLUSTER}::test_a_stop_ends_it_and_what_is_computed_is_given_up")),
    )),
    Group("Ending", (
        Promise("cancel", "A cancel takes at most 1 s, and the processor is free after 2 s",
                (f"{_SURVIVE}::test_a_cancel_takes_at_most_a_second_and_leaves_no_child",
                 f"{_SEARCH}::test_a_cancel_over_http_takes_at_most_a_second"), "cancels"),
        Promise("sigterm",
                "A worker asked to end leaves within 10 s and gives its run back, no attempt charged",
                (f"{_SURVIVE}::test_a_worker_asked_to_stop_returns_its_run_unblamed",), "given_back"),
        Promise("stop", "A run that is stopped ends with its best answer so far",
                (f"{_SEARCH}::test_a_stop_over_http_brings_the_best_so_far_within_seconds",
                 f"{_SURVIVE}::test_a_stop_ends_with_the_finished_blocks_though_its_worker_is_killed")),
        Promise("exhausted",
                "A run that always takes longer than it may fails and says so; others beside it succeed",
                (f"{_SUPERVISION}::test_a_run_beyond_its_time_fails_and_its_child_is_dead",), "exhausted"),
        Promise("memory",
                "A run that always needs more memory than it may fails and states the limit; others beside "
                "it succeed",
                (f"{_SUPERVISION}::test_memory_beyond_the_limit_fails_the_run_and_states_the_limit",
                 f"{_SUPERVISION}::test_a_child_never_holds_more_memory_of_its_own_than_the_limit"),
                "exhausted"),
    )),
    Group("Database, disk and clock", (
        Promise("backends", "All connections to the database are ended: what runs goes on",
                ("tests/faults/test_database_restarts.py",), "backends"),
        Promise("frozen", "Connections to the database stand still for 30 s: nothing is lost",
                ("tests/faults/test_database_restarts.py",), "frozen"),
        Promise("database-away",
                "PostgreSQL is down for 3 s and for 60 s: the API says so, and runs go on after it",
                ("tests/faults/test_database_restarts.py",), "away"),
        Promise("disk", "A full disk is called one; reading goes on, and room mends it",
                ("tests/faults/test_full_disk.py", "tests/unit/services/test_spool.py")),
        Promise("clock", "A program whose clock is an hour wrong loses no run",
                ("tests/unit/workers/test_reaper.py",), "clocks"),
        Promise("migrations", "A database of an earlier migration is brought to the newest with its data",
                ("tests/integration/test_migrations.py", "tests/api/test_upgrades.py")),
        Promise("rotation", "Rotating the master key changes no data",
                ("tests/integration/test_encryption.py::test_rotating_the_master_key_rewraps_everything_and_changes_no_data",
                 "tests/integration/test_key_rotation.py")),
        Promise("backups",
                "A backup is restored with the master key that it was written with; with another one, or cut "
                "off, it changes nothing",
                (f"{_EMBEDDED}::test_a_backup_is_restored_into_a_new_folder_and_nowhere_else",
                 f"{_EMBEDDED}::test_a_backup_from_before_a_rotation_needs_the_key_of_then",
                 f"{_EMBEDDED}::test_a_database_without_its_master_key_is_not_restored_into",
                 f"{_EMBEDDED}::"
                 "test_what_is_no_backup_or_is_cut_is_refused_and_leaves_an_empty_database")),
    )),
    Group("Load", (
        Promise("clients-50", "50 clients of mixed work for five minutes: no error of the service's own",
                ("tests/benchmarks/test_service.py",), "many_clients"),
        Promise("clients-200", "200 clients of mixed work for five minutes: no error of the service's own",
                ("tests/benchmarks/test_service.py",), "many_clients"),
        Promise("queue", "1,000 queued runs and four workers: none lost, none computed twice",
                ("tests/integration/test_runs.py",), "long_queue"),
        Promise("hour", "An hour of mixed work: memory does not grow, connections stay as many",
                ("tests/unit/services/test_bounded_caches.py",
                 f"{_API}::test_their_threads_have_no_memory_apart_that_would_fill_once_for_each"),
                "long_mix"),
        Promise("turns",
                "A run behind thirty of another tenant is the second to begin; each tenant's go in order",
                (f"{_SURVIVE}::test_a_run_behind_thirty_of_another_tenant_is_the_second_to_begin",
                 "tests/integration/test_turns.py")),
        Promise("webhooks",
                "A message is told once, again if it failed, and one receiver does not hear another's",
                ("tests/api/test_webhooks.py",)),
    )),
    Group("Right numbers", (
        Promise("selfcheck",
                "Every measure, criterion, loss, mechanism, view check and search agrees with its oracle",
                ("tests/property/test_found_rules_as_measured.py", "tests/property/test_lattice_searches.py"),
                "compared"),
        Promise("persons",
                "k means k people: where people have several rows, nothing passes below k, at any door",
                ("tests/property/test_persons.py", "tests/api/test_repeated_people.py",
                 "tests/api/test_gates_of_persons.py")),
        Promise("produced",
                "A file is one that the dataset can produce: any other fails every ready policy, at any door",
                ("tests/property/test_row_matching.py", "tests/api/test_files_of_the_dataset.py")),
        Promise("as-written",
                "What is judged is what leaves: times, blanks, markers and formats merge nothing in a gate",
                ("tests/api/test_judged_as_written.py",
                 "tests/api/test_columns_checked.py::test_a_file_is_judged_as_it_is_written")),
        Promise("disguised",
                "Of the same people no second draw stands certified, whatever their delivery looks like",
                ("tests/api/test_disguised_deliveries.py", "tests/api/test_budgets_of_same_people.py")),
        Promise("noticed", "Tests notice mistakes that are put into the product",
                ("tests/unit/test_changes_to_notice.py",)),
    )),
    Group("Hostile input", (
        Promise("fuzz-api",
                "50,000 requests drawn from the OpenAPI document, with a key: no error of the service's own",
                ("tests/api/test_front_door.py", "tests/api/test_bad_definitions.py"), "fuzzed"),
        Promise("fuzz-parsers",
                "No parser answers hostile input by another error than its own, or computes for long: CSV, "
                "Parquet, Arrow, XLSX, hierarchies, policies, conditions, formulas, SQL of views, and the "
                "client's answers",
                ("tests/property/test_hostile_input.py",), "parsers"),
        Promise("uploads-hostile", "Hostile files are refused before they cost much",
                ("tests/unit/services/test_hostile_uploads.py", "tests/api/test_bad_uploads.py")),
    )),
    Group("Who may see what", (
        Promise("isolation", "No route knows what is another tenant's; every route is tried",
                ("tests/api/test_tenancy.py",
                 "tests/ui/test_signing_in.py::test_no_page_shows_another_tenants_names",
                 "tests/ui/test_resource_pages.py::test_forms_find_nothing_of_another_tenant")),
        Promise("keys",
                "No operation answers without a key, with a revoked or expired one, or without its scope",
                ("tests/api/test_authentication.py",)),
        Promise("identities", "No forged, expired or foreign token of an identity provider opens anything",
                ("tests/api/test_identities.py", "tests/ui/test_organisations.py")),
        Promise("rates", "All processes together answer a caller as often as the limit says, and no more",
                ("tests/api/test_rates.py",)),
        Promise("row-security", "The role of the programs reads and changes rows of its tenant alone",
                ("tests/integration/test_row_security.py",)),
        Promise("sealed", "No cell stands in any file of the database's folder as it was sent",
                ("tests/integration/test_encryption.py::test_a_cell_value_is_in_no_file_of_the_database_folder",
                 "tests/integration/test_sealing.py")),
        Promise("canaries",
                "Nothing kept beside the data tells of them: logs, metrics, errors, queue, files, arguments",
                ("tests/api/test_canaries.py",)),
        Promise("erased", "What is deleted is gone from every process that had loaded it",
                (f"{_SURVIVE}::test_deleted_data_leave_no_process_that_has_loaded_them",
                 "tests/integration/test_deletions.py")),
        Promise("purged",
                "After erasure and a purge no file of the database holds a value or its wrapped key",
                ("tests/faults/test_erasure.py",)),
        Promise("audit", "A changed event of the audit trail shows, and so does a trail that ends too early",
                ("tests/property/test_audit_chains.py",
                 "tests/integration/test_records.py::"
                 "test_audit_events_form_one_chain_that_shows_every_tampering",
                 "tests/api/test_webhooks.py::test_a_changed_event_shows")),
        Promise("audit-speed", "100,000 events of the audit trail are verified within 5 s",
                ("tests/property/test_audit_chains.py",), "verified"),
    )),
    Group("What is shipped", (
        Promise("containers",
                "The containers start in order, answer, come back when all are killed, and end in order",
                (_CONTAINERS,), "containers"),
        Promise("bill-of-materials",
                "The image holds a bill of materials of all that is in it, and the licences",
                (f"{_CONTAINERS}::test_the_bill_of_materials_names_every_package_of_the_environment_with_its_licence",)),
        Promise("vulnerabilities",
                "No locked library has a known vulnerability; where that cannot be looked up, it is said",
                (f"{_CONTAINERS}::test_the_bill_of_materials_names_every_package_of_the_environment_with_its_licence",),
                "vulnerabilities"),
    )),
)  # fmt: skip

PROMISES: Final = tuple(promise for group in GROUPS for promise in group.promises)
PARTS: Final = tuple(dict.fromkeys(promise.part for promise in PROMISES))
"""The parts of the campaign in their order."""
