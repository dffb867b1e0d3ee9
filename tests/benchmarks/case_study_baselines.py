"""The mean risk of table-level rules of the case study by a database and by data frames, for comparison.

Both begin with distinct rows and their numbers, with a column of codes for each attribute and level.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.domain.search.context import SearchContext

Levels = tuple[int, ...]
Columns = dict[str, npt.NDArray[np.int32]]


class _Tables:
    """Distinct members and entities: per attribute and level the node (``a0_1``), and how many there are.

    ``n_linked`` attributes come first. Entities whose birth date is a year are the same on its finer levels.
    """

    def __init__(self, context: SearchContext) -> None:
        self.context = context
        self.n_linked = len(context.dictionary.links)
        self.n_records = context.table.n_records

    @cached_property
    def finest(self) -> list[int]:
        """Per linked attribute the finest level that the entities' values tell apart."""
        return [
            int(link.hierarchy.height - link.hierarchy.depth[link.nodes].min())
            for link in self.context.dictionary.links
            if link.nodes is not None
        ]

    def members(self) -> Columns:
        """Columns of the distinct members."""
        reduced, found = self.context.table.reduced, {}
        for j, tree in enumerate(self.context.table.hierarchies):
            for level in range(tree.height):
                found[f"a{j}_{level}"] = tree.ancestors_at(level)[reduced.codes[:, j]]
        return {**found, "n": reduced.counts.astype(np.int32)}

    def entities(self) -> Columns:
        """Columns of the distinct entities."""
        reduced, found = self.context.dictionary.reduced, {}
        for j, link in enumerate(self.context.dictionary.links):
            if link.nodes is None:
                raise ValueError("the case study links nodes")
            for level in range(self.finest[j], link.hierarchy.height):
                found[f"a{j}_{level}"] = link.hierarchy.ancestors_at(level)[link.nodes[reduced.codes[:, j]]]
        return {**found, "k": reduced.counts.astype(np.int32)}

    def split(self, levels: Levels) -> tuple[list[str], list[str]]:
        """The columns that a rule discloses, and those on which it is joined with the entities."""
        heights = self.context.table.heights
        shown = [f"a{j}_{level}" for j, level in enumerate(levels) if level < heights[j]]
        joined = [
            f"a{j}_{max(level, self.finest[j])}"
            for j, level in enumerate(levels[: self.n_linked])
            if level < heights[j]
        ]
        return shown, joined

    def weights(self, column: str) -> npt.NDArray[np.float64]:
        """Weight of each node of a column's attribute."""
        weights: npt.NDArray[np.float64] = self.context.sensitivity.shapes[
            int(column[1 : column.index("_")])
        ][0]
        return weights


class Database(_Tables):
    """Rules scored by duckdb, in memory, on all processors."""

    def __init__(self, context: SearchContext) -> None:
        import duckdb

        super().__init__(context)
        self._connection = duckdb.connect()
        frames = {"members": pd.DataFrame(self.members()), "entities": pd.DataFrame(self.entities())}
        for j, tree in enumerate(context.table.hierarchies):
            frames[f"w{j}"] = pd.DataFrame({"node": np.arange(tree.n_nodes), "w": self.weights(f"a{j}_")})
        for name, frame in frames.items():
            self._connection.register("frame", frame)
            self._connection.execute(f"create table {name} as select * from frame")
            self._connection.unregister("frame")

    def risk(self, levels: Levels) -> float:
        """Mean risk of a rule."""
        shown, joined = self.split(levels)
        columns = ", ".join(sorted({*shown, *joined}))
        by_member = f"group by {columns}" if columns else ""
        by_entity = f"group by {', '.join(joined)}" if joined else ""
        # Only names of columns that are made here.
        members = f"select {columns + ', ' if columns else ''} sum(n) n from members {by_member}"
        entities = f"select {', '.join([*joined, ''])} sum(k) k from entities {by_entity}"
        using = f"join e using ({', '.join(joined)})" if joined else "cross join e"
        weights = " ".join(f"join w{c[1]} w_{c} on w_{c}.node = m.{c}" for c in shown)
        harm = " + ".join([f"w_{c}.w" for c in shown] or ["0"])
        query = (
            f"with m as ({members}), e as ({entities}) "
            f"select sum(m.n * exp({harm}) / e.k) from m {using} {weights}"
        )
        (found,) = self._connection.execute(query).fetchone() or (0.0,)
        return float(found) / self.n_records


class Frames(_Tables):
    """Rules scored by pandas."""

    def __init__(self, context: SearchContext) -> None:
        super().__init__(context)
        self._members = pd.DataFrame(self.members())
        self._entities = pd.DataFrame(self.entities())

    def risk(self, levels: Levels) -> float:
        """Mean risk of a rule."""
        shown, joined = self.split(levels)
        columns = sorted({*shown, *joined})
        if columns:
            members = self._members.groupby(columns, sort=False)["n"].sum().reset_index()
        else:
            members = pd.DataFrame({"n": [self._members["n"].sum()]})
        if joined:
            entities = self._entities.groupby(joined, sort=False)["k"].sum().reset_index()
            members = members.merge(entities, on=joined)
        else:
            members["k"] = self._entities["k"].sum()
        harm = np.zeros(len(members))
        for column in shown:
            harm += self.weights(column)[members[column].to_numpy()]
        found = (members["n"].to_numpy() * np.exp(harm) / members["k"].to_numpy()).sum()
        return float(found) / self.n_records
