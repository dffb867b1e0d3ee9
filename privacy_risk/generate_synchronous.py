"""Makes the blocking client of the other one: ``python privacy_risk/generate_synchronous.py [--check]``.

The two differ in nothing but the words below, so the files of ``asynchronous`` are the only ones that are
written by hand. Words are replaced as whole tokens of the language; of texts only the examples change.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SOURCE, TARGET = HERE / "asynchronous", HERE / "synchronous"

_WORDS = {
    "AsyncIterator": "Iterator",
    "AsyncBaseTransport": "BaseTransport",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aiter_lines": "iter_lines",
    "aread": "read",
    "async_body_of": "body_of",
    "asynccontextmanager": "contextmanager",
    "asynchronous": "synchronous",
    "asyncio": "time",
}
_OWN_PREFIX = "Async"
_EXAMPLES = {"async with ": "with ", "await ": "", "AsyncClient": "Client"}
_PACKAGE = {
    "for programs that do not block; ``synchronous`` is made of these files": "for programs that block"
}


def generated() -> dict[str, str]:
    """The text of each file of the blocking client, by its name."""
    return {path.name: _formatted(_blocking(path)) for path in sorted(SOURCE.glob("*.py"))}


def drifted() -> list[str]:
    """The names of files that are not what they would be if they were made now."""
    made = generated()
    found = {path.name: path.read_text("utf-8") for path in TARGET.glob("*.py")}
    return sorted(name for name in made.keys() | found.keys() if made.get(name) != found.get(name))


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say which are not up to date; 1 if there are any."""
    if arguments == ["--check"]:
        old = drifted()
        for name in old:
            print(f"{TARGET / name} is not what {SOURCE / name} makes.", file=sys.stderr)
        return 1 if old else 0
    made = generated()
    for path in TARGET.glob("*.py"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, "utf-8")
    return 0


def _blocking(path: Path) -> str:
    head = f"# Made of {SOURCE.name}/{path.name} by {Path(__file__).name}: change that file, not this one.\n"
    text = re.sub(r"\bAwaitable\[([\w.]+)\]", r"\1", path.read_text("utf-8"))
    return head + "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text, token by token: ``async`` and ``await`` left out, words and examples replaced."""
    lines = [*text.splitlines(keepends=True), ""]
    place, skip_space = (1, 0), False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if not skip_space:
            yield _slice(lines, place, token.start)
        skip_space = token.type == tokenize.NAME and token.string in ("async", "await")
        if token.type == tokenize.NAME:
            yield "" if skip_space else _WORDS.get(token.string, token.string.removeprefix(_OWN_PREFIX))
        elif token.type == tokenize.STRING:
            yield _replaced(token.string)
        else:
            yield _slice(lines, token.start, token.end)
        place = token.end


def _slice(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one place to another: rows counted from 1, columns from 0."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    between = lines[start[0] : end[0] - 1]
    return "".join((lines[start[0] - 1][start[1] :], *between, lines[end[0] - 1][: end[1]]))


def _replaced(text: str) -> str:
    for old, new in (_EXAMPLES | _PACKAGE).items():
        text = text.replace(old, new)
    return text


def _formatted(text: str) -> str:
    """As ruff would have it: imports in order, no loop where ``yield from`` does."""
    fixes = ["check", "--select", "I,F401,UP028,C416", "--fix", "--unsafe-fixes", "--quiet"]
    first_party = ["--config", 'lint.isort.known-first-party = ["privacy_risk"]']
    for command in ([*fixes, *first_party, "-"], ["format", "-"]):
        done = subprocess.run(  # noqa: S603 - a tool of ours on a text of ours
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / "client.py")],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=HERE.parent,
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
