"""What a generalisation hierarchy says, from the parents of its nodes alone."""

from __future__ import annotations


class ByHand:
    """One tree: what a node becomes and how many leaves it covers, from the parents alone."""

    def __init__(self, tree):
        self.parent = [0, *(p[0] for p in tree.parents[1:])]
        self.depth = [0]
        for p in self.parent[1:]:
            self.depth.append(self.depth[p] + 1)
        inner = set(self.parent[1:])
        self.leaves = [node for node in range(len(self.parent)) if node not in inner] if inner else [0]
        self.height = max(self.depth)
        self.levels = range(self.height + 1)

    def at(self, node, level):
        while self.depth[node] > self.height - level:
            node = self.parent[node]
        return node

    def is_below(self, node, other):
        """Whether a node is another one or below it."""
        return node == other or any(self.at(node, level) == other for level in self.levels)

    def share(self, node):
        return sum(self.is_below(leaf, node) for leaf in self.leaves) / len(self.leaves)
