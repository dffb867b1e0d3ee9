"""SQL parsed, and the places in its text."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Final, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.errors import InvalidInput
from app.services.views.published import Place

MOST_NESTING: Final = 40
"""Parentheses and CASE expressions within each other, and prefix operators in a row."""
_OPENING: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES: Final = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_FIRST_WORDS: Final[dict[type[exp.Expr], TokenType]] = {
    exp.Limit: TokenType.LIMIT,
    exp.Offset: TokenType.OFFSET,
    exp.Fetch: TokenType.FETCH,
    exp.Lateral: TokenType.LATERAL,
    exp.Values: TokenType.VALUES,
}
"""Of clauses of which the parser does not say where they begin."""
MOST_POSTFIXES: Final = 60
"""Casts and brackets in a text: each is a level of what the parser builds, and it takes time for each."""
_POSTFIXES: Final = {TokenType.L_BRACKET, TokenType.DCOLON}
NODES_OF_A_WORD: Final = 10
"""Nodes that the parser may make, also of what it reads once more; it makes one of a word or fewer otherwise.

Of joins that lack their condition it reads all that follows twice: of 30 in a row a thousand million times.
"""
NODES_AT_LEAST: Final = 500
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
MOST_OF_A_NAME: Final = 3
"""Points in a row that qualify a name."""

# The parser would write the caller's text into the log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


class SqlText:
    """A text in SQL of a dialect."""

    def __init__(self, text: str, dialect: SqlDialect) -> None:
        self.text = text
        self.dialect = dialect
        self._dialect = Dialect.get_or_raise(dialect)
        self._offsets: dict[int, tuple[exp.Expr, int]] = {}
        self._tokens: list[Token] = []

    def statements(self) -> list[tuple[exp.Expr, int]]:
        """What the text consists of, and where each begins.

        InvalidInput says at which line and column it stops making sense.
        """
        if "\0" in self.text:
            self.refuse(self.text.index("\0"), "sql-syntax", "a text with the character NUL is none of SQL.")
        try:
            tokens = self._tokens = self._dialect.tokenize(self.text)
            self._require_shallow(tokens)
            parser = self._dialect.parser(max_nodes=NODES_AT_LEAST + NODES_OF_A_WORD * len(tokens))
            found = parser.parse(tokens, self.text)
        except TokenError as error:
            place = re.search(r":(\d+)$", str(error.__cause__))
            self.refuse(
                int(place.group(1)) if place else max(0, self.text.rfind("/*")),
                "sql-syntax",
                "what begins here is not closed, or is no word of this dialect.",
            )
        except ParseError as error:
            self._refuse_unparsed(error)
        except RecursionError:
            self.refuse(0, "nested-too-deep", "the query is nested too deeply.", "Write parts of it as WITH.")

        starts, is_first = [], True
        for token in tokens:
            if is_first:
                starts.append(token.start)
            is_first = token.token_type == TokenType.SEMICOLON
        starts += [len(self.text)] * len(found)
        return [
            (own, start)
            for own, start in zip(found, starts, strict=False)
            # A comment behind the last semicolon is no statement.
            if own is not None and not isinstance(own, exp.Semicolon)
        ]

    @property
    def tokens(self) -> Sequence[Token]:
        """The words of the text, once its statements have been read."""
        return self._tokens

    def words(self, kind: TokenType) -> int:
        """How often the word of this kind stands in the text."""
        return sum(own.token_type == kind for own in self._tokens)

    def folded(self, name: exp.Identifier) -> str:
        """The name as the database understands it: with ASCII letters in lower case unless it is quoted."""
        return name.name if self.is_exact(name) else name.name.translate(_LOWER)

    def is_exact(self, name: exp.Identifier) -> bool:
        """Whether upper and lower case must be as they are declared."""
        return bool(name.args.get("quoted"))

    def word_after(self, name: exp.Expr) -> str:
        """The word or words of a type that follow a name, in lower case; empty if quoted or none."""
        end = name.meta.get("end", len(self.text))
        following = next((own for own in self._tokens if own.start > end), None)
        if following is None or following.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            return ""
        return " ".join(following.text.translate(_LOWER).split())

    def is_in_string_quotes(self, name: exp.Identifier) -> bool:
        """Whether a string stands where a name should, here or elsewhere in the text."""
        return any(own.token_type == TokenType.STRING and own.text == name.name for own in self._tokens)

    def offset(self, node: exp.Expr) -> int:
        """Where the node begins, as far as the parser says."""
        if id(node) not in self._offsets:
            starts = [own.meta["start"] for own in node.walk() if "start" in own.meta]
            word = _FIRST_WORDS.get(type(node))
            words = [own.start for own in self._tokens if own.token_type == word] if word else []
            if len(words) == 1:
                starts = words
            if not starts and node.parent is not None:
                starts = [self.offset(node.parent)]
            self._offsets[id(node)] = node, min(starts, default=0)
        return self._offsets[id(node)][1]

    def place(self, node: exp.Expr | int) -> Place:
        """The line and column of a node, or of an offset."""
        offset = node if isinstance(node, int) else self.offset(node)
        line = self.text.count("\n", 0, offset) + 1
        return Place(line, offset - (self.text.rfind("\n", 0, offset) + 1) + 1)

    def refuse(self, node: exp.Expr | int, code: str, message: str, remedy: str = "") -> NoReturn:
        """Raise InvalidInput with the line and column."""
        place = self.place(node)
        raise InvalidInput.of("", code, f"Line {place.line}, column {place.column}: {message}", remedy)

    def require_arguments(self, node: exp.Expr, known: frozenset[str]) -> None:
        """Refuse a clause that is not among these: it could change what the query depends on."""
        for name, own in node.args.items():
            if name not in known and own:
                self.refuse(
                    own if isinstance(own, exp.Expr) else node,
                    "not-read",
                    f"{name.strip('_').replace('_', ' ').upper()} is not read.",
                    "Leave it out if the answer does not depend on it.",
                )

    def _require_shallow(self, tokens: list[Token]) -> None:
        depth = prefixes = points = postfixes = 0
        for number, token in enumerate(tokens):
            prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
            postfixes = (
                0 if token.token_type == TokenType.COMMA else postfixes + (token.token_type in _POSTFIXES)
            )
            if token.token_type == TokenType.DOT:
                follows = number > 1 and tokens[number - 2].token_type == TokenType.DOT
                points = points + 1 if follows else 1
            if token.token_type in _OPENING:
                depth += 1
            elif token.token_type in _CLOSING:
                depth = max(0, depth - 1)
            if postfixes > MOST_POSTFIXES or points > MOST_OF_A_NAME:
                self.refuse(
                    token.start,
                    "nested-too-deep",
                    f"more than {MOST_POSTFIXES} casts and brackets, or {MOST_OF_A_NAME} points in a name.",
                    "Leave out what the answer does not depend on.",
                )
            if depth > MOST_NESTING or prefixes > MOST_NESTING:
                self.refuse(
                    token.start,
                    "nested-too-deep",
                    f"more than {MOST_NESTING} parentheses, CASE expressions or prefixes are nested.",
                    "Write parts of the query as WITH.",
                )

    def _refuse_unparsed(self, error: ParseError) -> NoReturn:
        first = error.errors[0] if error.errors else {}
        if str(first.get("description", "")).startswith("Maximum number of AST nodes"):
            self.refuse(
                0,
                "nested-too-deep",
                "the query could be meant in too many ways to be read.",
                "Let ON or USING follow each JOIN, and write parts of the query as WITH.",
            )
        what = re.sub(r"<Token .*?text: (.*?), line.*", r"\1", str(first.get("description", "")))
        lines = self.text.split("\n")
        line, end = int(first.get("line") or 1), int(first.get("col") or 1)
        start = sum(len(own) + 1 for own in lines[: line - 1]) + end - len(str(first.get("highlight") or " "))
        self.refuse(
            max(0, start),
            "sql-syntax",
            f"this is not understood as {self.dialect}: {what.rstrip('.')}.",
            "Write the query as PostgreSQL does.",
        )


def created_view(text: SqlText) -> exp.Table | None:
    """The name of the view that the text creates, if it does."""
    # Most texts are spared being read once more.
    for found, _ in text.statements() if "create" in text.text.casefold() else ():
        if isinstance(found, exp.Create) and found.args.get("kind") == "VIEW":
            named: exp.Table | None = found.this.find(exp.Table)
            return named
    return None


def one_query(text: SqlText) -> exp.Query:
    """The query that the text consists of, or that the view it creates is defined by."""
    statements = text.statements()
    if not statements:
        text.refuse(0, "not-a-query", "there is no query.")
    if len(statements) > 1:
        text.refuse(
            statements[1][1], "several-statements", "a second statement begins.", "Send one query each."
        )
    found, start = statements[0]
    if isinstance(found, exp.Create) and found.args.get("kind") == "VIEW":
        found = found.expression
    if not isinstance(found, exp.Query):
        text.refuse(
            start,
            "not-a-query",
            "this is no query.",
            "Write SELECT, several of them joined by UNION, INTERSECT or EXCEPT, or CREATE VIEW … AS SELECT.",
        )
    return found
