"""The embedded server: closed to others, started again after any crash, shared by two starts."""

from __future__ import annotations

import asyncio
import os
import secrets
import select
import stat
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil
import psycopg
import pytest

from app.composition import upkeep
from app.domain.errors import Conflict, Unavailable
from app.persistence import embedded_binaries, embedded_server
from app.persistence.addresses import create_engine
from app.persistence.backup import backup, restore
from app.persistence.embedded import start_embedded
from app.persistence.embedded_binaries import Account
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import rotate_master_key
from app.persistence.registry import PostgresRegistry
from app.settings import Settings

ROOT = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0
NOBODY = 65534


@pytest.fixture
def home(short_folder):
    """A folder that no server has been started in."""
    return short_folder / secrets.token_hex(4)


@pytest.fixture(scope="module")
def stopped(short_folder):
    """The folder of a server that was started once: to make a database takes longer than any test of it."""
    folder = short_folder / "stopped"
    start_embedded(folder).stop()
    return folder


@pytest.fixture
def used_home(home, stopped):
    """A copy of that folder, with the owners and modes of its files."""
    subprocess.run(["cp", "-a", stopped, home], check=True)
    return home


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def postmaster(home):
    return psutil.Process(int((home / "postgres/data/postmaster.pid").read_text().split()[0]))


def write(url, text):
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO tenants VALUES (gen_random_uuid(), %s, now())", [text])


def names(running):
    with psycopg.connect(running.admin_url.replace("/postgres?", "/privacy_risk?")) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM tenants")}


def add_tenant(running, name):
    write(running.admin_url.replace("/postgres?", "/privacy_risk?"), name)


def test_the_folders_are_closed_and_their_parents_untouched(home):
    before = {parent: mode(parent) for parent in home.parents}
    with start_embedded(home) as running:
        data = home / "postgres/data"
        assert mode(data) == 0o700
        assert mode(home / "master.key") == mode(home / "credentials.json") == 0o600
        assert mode(home) == mode(home / "postgres") == (0o711 if AS_ROOT else 0o700)
        assert mode(home / "postgres/run") == 0o700
        assert data.stat().st_uid != 0
        assert not any(stat.S_IMODE(path.lstat().st_mode) & 0o077 for path in data.rglob("*"))
        assert running.master_key.to_text() not in (home / "credentials.json").read_text()
        assert not list(data.rglob("master.key"))
    assert {parent: mode(parent) for parent in home.parents} == before


def test_the_server_requires_a_password_and_listens_on_a_socket_only(used_home):
    with start_embedded(used_home) as running:
        for url in (running.admin_url, running.owner_url, running.runtime_url):
            user, _, rest = url.removeprefix("postgresql://").partition(":")
            socket = rest.partition("@")[2]
            for guess in (f"postgresql://{user}@{socket}", f"postgresql://{user}:wrong@{socket}"):
                with pytest.raises(psycopg.OperationalError, match="password"):
                    psycopg.connect(guess)
        # Backends come and go, and open no address of their own.
        assert postmaster(used_home).net_connections("inet") == []
        with psycopg.connect(running.admin_url) as connection:
            stored = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolcanlogin").fetchall()
        assert all(password.startswith("SCRAM-SHA-256") for (password,) in stored)


def test_data_and_passwords_outlive_a_stop(used_home):
    with start_embedded(used_home) as running:
        add_tenant(running, "kept")
        first = running.runtime_url, running.master_key
    with start_embedded(used_home) as running:
        assert (running.runtime_url, running.master_key) == first
        assert names(running) == {"kept"}


def test_a_killed_server_is_started_again_with_everything_that_was_committed(used_home):
    with start_embedded(used_home) as running:
        add_tenant(running, "committed")
        assert not running.ensure_running()
        postmaster(used_home).kill()
        while running._server.is_running():
            time.sleep(0.01)
        assert running.ensure_running()
        assert names(running) == {"committed"}


def test_stopping_is_fast_even_with_open_sessions(used_home):
    running = start_embedded(used_home)
    connection = psycopg.connect(running.admin_url)
    since = time.monotonic()
    running.stop()
    running.stop()
    # After that it would have been ended without its sessions being waited for.
    assert time.monotonic() - since < embedded_server._STOP_SECONDS
    connection.close()


STARTER = textwrap.dedent(
    """
    import os, sys
    from pathlib import Path
    from app.persistence.embedded import start_embedded
    if len(sys.argv) > 2:
        # The interpreter's own files may be closed to that user: one start loads all that is needed.
        start_embedded(Path(sys.argv[1] + "-before")).stop()
        os.setgroups([])
        os.setgid(int(sys.argv[2]))
        os.setuid(int(sys.argv[2]))
    running = start_embedded(Path(sys.argv[1]))
    print("ours" if running.is_ours else "shared", flush=True)
    sys.stdin.read()
    running.stop()
    """
)


def starter(home, *uid):
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, home, *map(str, uid)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def end(process):
    process.communicate("", timeout=60)
    assert process.returncode == 0


def test_the_orphan_of_a_killed_process_is_taken_over(used_home):
    parent = starter(used_home)
    assert parent.stdout.readline() == "ours\n"
    orphan = postmaster(used_home)
    parent.kill()
    parent.communicate()
    assert orphan.is_running()
    with start_embedded(used_home) as running:
        add_tenant(running, "after")
        assert names(running) == {"after"}
        assert postmaster(used_home) != orphan


def test_killing_server_and_parent_at_once_leaves_nothing_that_stops_the_next_start(used_home):
    parent = starter(used_home)
    assert parent.stdout.readline() == "ours\n"
    postmaster(used_home).kill()
    parent.kill()
    parent.communicate()
    assert (used_home / "postgres/data/postmaster.pid").exists()
    with start_embedded(used_home) as running:
        assert names(running) == set()


def test_a_pid_file_that_names_another_living_process_does_not_stop_the_start(used_home):
    stranger = subprocess.Popen(
        ["sleep", "60"], **({"user": (used_home / "postgres/data").stat().st_uid} if AS_ROOT else {})
    )
    try:
        (used_home / "postgres/data/postmaster.pid").write_text(
            f"{stranger.pid}\n/elsewhere\n1\n5432\n\n\n  0  0\nready\n"
        )
        with start_embedded(used_home) as running:
            assert names(running) == set()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_starts_at_once_share_one_server(home):
    starters = [starter(home) for _ in range(3)]
    assert sorted(process.stdout.readline() for process in starters) == ["ours\n", "shared\n", "shared\n"]
    with start_embedded(home) as running:
        assert not running.is_ours
        add_tenant(running, "shared")
        assert names(running) == {"shared"}
    assert postmaster(home).is_running()
    for process in starters:
        end(process)
    assert not (home / "postgres/data/postmaster.pid").exists()


def test_who_starts_beside_a_command_waits_for_its_end_and_has_a_server_of_its_own(used_home):
    before = start_embedded(used_home, is_shared=False)
    service = starter(used_home)
    assert select.select([service.stdout], [], [], 3.0)[0] == []
    before.stop()
    assert service.stdout.readline() == "ours\n"
    assert postmaster(used_home).is_running()
    with start_embedded(used_home, is_shared=False) as command:
        assert not command.is_ours
        assert names(command) == set()
    end(service)


def test_a_command_of_upkeep_lets_nobody_share_its_server(used_home, monkeypatch):
    said = []

    async def examine(url, master_key, home):
        said.append((home / "lock").read_bytes())
        return []

    monkeypatch.setattr(upkeep, "examine", examine)
    upkeep.doctor(Settings(home=used_home, database_url=None, owner_database_url=None))
    assert said == [b""]


def test_a_start_that_died_half_way_is_begun_anew(home):
    (home / "postgres/tmpdead/data").mkdir(parents=True)
    (home / "lock").touch()
    (home / "credentials.json").write_text('{"admin": "a", "owner": "b", "runtime": "c"}')
    if AS_ROOT:
        home.chmod(0o711)
        (home / "postgres").chmod(0o711)
    with start_embedded(home) as running:
        assert names(running) == set()


def test_a_lost_master_key_is_said_and_not_replaced(used_home):
    (used_home / "master.key").unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        start_embedded(used_home)
    assert not (used_home / "master.key").exists()


def test_a_new_master_key_is_announced(home, caplog):
    start_embedded(home).stop()
    assert "losing it loses the data" in caplog.text
    caplog.clear()
    start_embedded(home).stop()
    assert caplog.text == ""


@pytest.mark.parametrize(("is_kept", "synced"), [(True, "on"), (False, "off")])
def test_only_data_that_go_with_their_service_are_not_synced_to_the_disk(used_home, is_kept, synced):
    with (
        start_embedded(used_home, is_kept=is_kept) as running,
        psycopg.connect(running.runtime_url) as connection,
    ):
        assert connection.execute("SHOW fsync").fetchone() == (synced,)


def test_the_master_key_is_rotated_and_a_crash_in_between_is_settled(used_home):
    with start_embedded(used_home) as running:
        old, owner_url = running.master_key, running.owner_url
        tenant_id = make_tenant(running)
        assert running.rotate_master_key() == 1
        new = running.master_key
        assert new != old
        assert mode(used_home / "master.key") == 0o600
        assert opens(running, tenant_id, new)
    (used_home / "master.key.next").write_text(old.to_text())  # written, but nothing rewrapped
    with start_embedded(used_home) as running:
        assert running.master_key == new
        assert not (used_home / "master.key.next").exists()
        third = MasterKey.generate()
        (used_home / "master.key.next").write_text(third.to_text())
        rotate_master_key(owner_url, new, third)  # rewrapped, but not renamed
    with start_embedded(used_home) as running:
        assert running.master_key == third
        assert opens(running, tenant_id, third)


def make_tenant(running):
    async def make():
        engine = create_engine(running.runtime_url)
        try:
            registry = PostgresRegistry(
                engine, running.master_key, lambda: datetime(2026, 11, 20, tzinfo=UTC)
            )
            return (await registry.add_tenant("acme"))[0].id
        finally:
            await engine.dispose()

    return asyncio.run(make())


def opens(running, tenant_id, key):
    with psycopg.connect(running.owner_url, options="-c app.maintenance=on") as connection:
        (wrapped,) = connection.execute("SELECT wrapped_key FROM data_keys").fetchone()
    return len(key.unwrap(wrapped, tenant_id, "documents")) == 32


def test_a_backup_is_restored_into_a_new_folder_and_nowhere_else(used_home, short_folder):
    target = short_folder / f"{secrets.token_hex(4)}.backup"
    with start_embedded(used_home) as running:
        tenant_id, key = make_tenant(running), running.master_key
        backup(running.owner_url, target, running.program("pg_dump"))
        assert mode(target) == 0o600
        with pytest.raises(Conflict, match="exists"):
            backup(running.owner_url, target, running.program("pg_dump"))
        with pytest.raises(Conflict, match="holds tenants"):
            restore(running.owner_url, target, running.program("pg_restore"), key)
    with start_embedded(short_folder / secrets.token_hex(4)) as running:
        restore(running.owner_url, target, running.program("pg_restore"), key)
        assert names(running) == {"acme"}
        assert opens(running, tenant_id, key)
        with psycopg.connect(running.runtime_url) as connection:
            assert connection.execute("SELECT * FROM tenants").fetchall() == []
            assert len(connection.execute("SELECT * FROM lookup_tenants()").fetchall()) == 1
            known = connection.execute("SELECT reltuples FROM pg_class WHERE relname = 'tenants'")
            assert known.fetchone() == (1,), "its planner knows what the tables hold"
        with pytest.raises(Conflict):
            restore(running.owner_url, target, running.program("pg_restore"), key)


def test_a_backup_from_before_a_rotation_needs_the_key_of_then(used_home, short_folder):
    target, old_key = (short_folder / f"{secrets.token_hex(4)}.{kind}" for kind in ("backup", "key"))
    with start_embedded(used_home) as running:
        tenant_id, old = make_tenant(running), running.master_key
        old_key.write_bytes((used_home / "master.key").read_bytes())
        backup(running.owner_url, target, running.program("pg_dump"))
        running.rotate_master_key()
        new = running.master_key
    new_home = short_folder / secrets.token_hex(4)
    with start_embedded(new_home) as running:
        with psycopg.connect(running.owner_url) as connection:
            connection.execute("CREATE TABLE of_before AS SELECT 1")
        with pytest.raises(Conflict) as refused:
            restore(running.owner_url, target, running.program("pg_restore"), new)
        assert old.id in refused.value.message
        assert new.id in refused.value.message
        assert "rotate-keys" in refused.value.remedy
        assert names(running) == set()
        with psycopg.connect(running.owner_url) as connection:
            assert connection.execute("SELECT * FROM of_before").fetchone() == (1,)
            connection.execute("DROP TABLE of_before")
    # As the page on operating has it: the old key first, then its replacement.
    (new_home / "master.key").write_bytes(old_key.read_bytes())
    settings = Settings(home=new_home, database_url=None, owner_database_url=None)
    upkeep.restore(settings, target)
    assert upkeep.rotate_keys(settings) == 1
    with start_embedded(new_home) as running:
        assert names(running) == {"acme"}
        assert running.master_key.id not in (old.id, new.id)
        assert opens(running, tenant_id, running.master_key)


def test_a_database_without_its_master_key_is_not_restored_into(tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep.shutil, "which", lambda program: f"/usr/bin/{program}")
    settings = Settings(owner_database_url="postgresql://app_owner@nowhere/privacy_risk", master_key=None)
    with pytest.raises(Unavailable, match="no master key"):
        upkeep.restore(settings, tmp_path / "a.backup")


def test_what_is_no_backup_or_is_cut_is_refused_and_leaves_an_empty_database(used_home, short_folder):
    whole, source = (short_folder / f"{secrets.token_hex(4)}.{kind}" for kind in ("whole", "backup"))
    with start_embedded(used_home) as running:
        backup(running.owner_url, whole, running.program("pg_dump"))
        content = whole.read_bytes()
        for broken in (b"nonsense", content[:100], content[: len(content) // 2], content[:-1]):
            source.write_bytes(broken)
            with pytest.raises(Unavailable, match="pg_restore failed"):
                restore(running.owner_url, source, running.program("pg_restore"), running.master_key)
            assert names(running) == set()


def test_a_folder_too_deep_for_a_socket_works(short_folder):
    home = short_folder / ("deep" * 20) / secrets.token_hex(4)
    with start_embedded(home) as running:
        assert names(running) == set()
        socket_folder = Path(running.runtime_url.partition("host=")[2])
        assert len(str(socket_folder)) < 80
        assert mode(socket_folder) == 0o700


def test_the_log_holds_no_values(used_home):
    with start_embedded(used_home) as running:
        add_tenant(running, "twice-the-same")
        with pytest.raises(psycopg.errors.UniqueViolation):
            add_tenant(running, "twice-the-same")
        with psycopg.connect(running.admin_url) as connection, pytest.raises(psycopg.Error):
            connection.execute("SELECT 'a-value-in-a-statement' FROM nowhere")
    log = (used_home / "postgres/postgres.log").read_text()
    assert "twice-the-same" not in log
    assert "a-value-in-a-statement" not in log


@pytest.mark.skipif(not AS_ROOT, reason="only root runs the server under another account")
class TestAsRoot:
    def test_a_closed_parent_is_refused_and_stays_closed(self, short_folder):
        closed = short_folder / "closed"
        closed.mkdir(mode=0o700)
        with pytest.raises(Unavailable, match="cannot reach"):
            start_embedded(closed / "home")
        assert mode(closed) == 0o700

    def test_a_folder_with_other_content_is_refused_and_stays_as_it_is(self, short_folder):
        closed = short_folder / "documents"
        closed.mkdir(mode=0o700)
        (closed / "letter").touch()
        with pytest.raises(Unavailable, match="other content"):
            start_embedded(closed)
        assert mode(closed) == 0o700

    def test_programs_that_the_account_cannot_reach_are_copied_once(self, home, monkeypatch):
        monkeypatch.setattr(Account, "reaches", lambda account, path: "site-packages" not in path.parts)
        for _ in range(2):
            with start_embedded(home) as running:
                assert running.program("postgres").is_relative_to(home)
                assert names(running) == set()
        assert len(list((home / "postgres/programs").iterdir())) == 1

    def test_an_ordinary_user_starts_it_too(self, short_folder):
        if not Account(NOBODY, NOBODY).reaches(ROOT / "migrations/env.py"):
            pytest.skip("an ordinary user cannot reach this checkout")
        folder = short_folder / secrets.token_hex(4)
        folder.mkdir()
        home = folder / "of-nobody"
        home.mkdir(mode=0o755)
        os.chown(home, NOBODY, NOBODY)
        process = starter(home, NOBODY)
        assert process.stdout.readline() == "ours\n"
        assert mode(home) == mode(home / "postgres/data") == 0o700
        assert postmaster(home).uids().real == NOBODY
        end(process)


def test_every_tree_of_the_wheel_has_what_is_needed():
    for version in (16, 18):
        folder = embedded_binaries.binaries(version, None, Path("/unused"))
        for program in ("initdb", "postgres", "pg_dump", "pg_restore"):
            assert os.access(folder / program, os.X_OK)
