"""The file that an upload waits in: whole even if the disk takes it in parts; a full disk is called one."""

from __future__ import annotations

import errno
import os
import secrets

import pytest
from cryptography.exceptions import InvalidTag

from app.domain.errors import Unavailable
from app.services.datasets.ingest.spool import EncryptedSpool, SpoolReader


class Scarce:
    """A file on a disk that takes so many bytes at once, and so many in all."""

    def __init__(self, file, at_once, room):
        self.file, self.at_once, self.room = file, at_once, room

    def write(self, data):
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.file.write(data[: min(self.at_once, self.room)])
        self.room -= written
        return written


@pytest.fixture
def spool():
    spool = EncryptedSpool()
    file = spool._file
    yield spool
    file.close()


def test_what_the_disk_takes_in_parts_is_whole(spool):
    content = secrets.token_bytes(1024**2 + 1000)
    spool._file = Scarce(spool._file, 100_000, 2 * 1024**2)
    spool.write(content)
    spool.finish()
    reader = SpoolReader(spool._file.file.fileno(), spool.key, spool.size)
    assert reader.read() == content


def test_what_waits_has_no_name_and_can_be_read_with_its_key_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool, content = EncryptedSpool(), b"Ada,36,flu\n" * 150_000
    spool.write(content)
    spool.finish()
    assert [*tmp_path.iterdir()] == []
    on_disk = os.pread(spool.fileno(), 2 * len(content), 0)
    assert len(on_disk) > len(content)
    # Three bytes by themselves occur by chance among so many that are encrypted.
    assert b"Ada,36,flu" not in on_disk
    assert SpoolReader(spool.fileno(), spool.key, spool.size).read() == content
    with pytest.raises(InvalidTag):
        SpoolReader(spool.fileno(), bytes(32), spool.size).read()
    spool.close()


def test_a_full_disk_is_named(spool):
    spool._file = Scarce(spool._file, 100_000, 500_000)
    with pytest.raises(Unavailable, match="disk for uploads") as refused:
        spool.write(bytes(1024**2))
    assert "makes room" in refused.value.remedy


def test_a_folder_that_takes_no_file_is_named(monkeypatch):
    def refuse(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(Unavailable, match="No file can be made where uploads") as refused:
        EncryptedSpool()
    assert "TMPDIR" in refused.value.remedy
