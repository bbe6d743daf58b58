"""A grown tree as arrays, and the one grower that all chapters of this part call.

A tree is a set of arrays with one entry for each node; node 0 is the root and children
have higher numbers than their parent. A row goes left where x <= threshold (or where
its category is in the node's subset), right otherwise; a missing value goes where the
node says.

``grow`` asks a split finder (``splits.ExactSplits`` or ``histogram.HistogramSplits``)
for the best split of every open node and splits them: all of a level at once, or, with
``max_leaf_nodes``, always the one with the largest gain.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mlbook.validation import Floats

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass
class Splits:
    """The best split of each of m nodes.

    Attributes
    ----------
    gain : ndarray of shape (m,), -inf where a node cannot be split
    feature : ndarray of shape (m,)
    threshold : ndarray of shape (m,), x <= threshold goes left
    missing_left : ndarray of shape (m,) of bool
    subset : ndarray of shape (m, categories) of bool, or None; the categories that go
        left, used where ``feature`` is categorical
    position : ndarray of shape (m,), where a histogram cuts: codes up to it go left
    """

    gain: Floats
    feature: Ints
    threshold: Floats
    missing_left: Bools
    subset: Bools | None = None
    position: Ints | None = None


class Frontier(Protocol):
    """Open nodes: what the grower reads of a finder's own record of them."""

    sums: Floats  # (s, m)
    counts: Ints  # (m,) rows


class Finder(Protocol):
    """What the grower asks of a split finder."""

    def root(self) -> Frontier:
        """Return the roots as open nodes."""

    def best(self, frontier: Any) -> Splits:
        """Return the best split of every open node."""

    def children(
        self, frontier: Any, splits: Splits, chosen: Bools, last: bool
    ) -> Any:
        """Return the children of the chosen nodes: left, right, left, right, ...

        ``last`` says that they will not be split, so that nothing need be prepared.
        """

    def select(self, frontier: Any, k: int) -> Any:
        """Return node k of the frontier as a frontier of its own."""

    def rows_and_nodes(self, frontier: Any) -> tuple[Ints, Ints]:
        """Return the rows of a frontier and the number of each row's node there."""


@dataclass
class Tree:
    """A tree, or several: with more than one root, node r < n_roots is the r-th.

    Attributes
    ----------
    feature : ndarray of shape (nodes,), -1 for a leaf
    threshold, gain : ndarrays of shape (nodes,), 0 for a leaf
    left, right, parent : ndarrays of shape (nodes,), -1 where there is none
    missing_left : ndarray of shape (nodes,) of bool
    subset : ndarray of shape (nodes, categories) of bool, or None
    sums : ndarray of shape (s, nodes), the statistics of the training rows
    count : ndarray of shape (nodes,), the number of training rows
    depth : ndarray of shape (nodes,)
    categorical : ndarray of shape (d,) of bool
    """

    feature: Ints
    threshold: Floats
    gain: Floats
    left: Ints
    right: Ints
    parent: Ints
    missing_left: Bools
    subset: Bools | None
    sums: Floats
    count: Ints
    depth: Ints
    categorical: Bools

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def is_leaf(self) -> Bools:
        """Where a node is a leaf, shape (nodes,)."""
        return self.feature < 0

    def goes_left(self, X: Floats, rows: Ints, nodes: Ints) -> Bools:
        """Return where X[rows] goes left at the inner ``nodes``, shape (rows,)."""
        feature = self.feature.take(nodes)
        return send_left(
            X.ravel().take(rows * X.shape[1] + feature),
            self.threshold.take(nodes),
            self.missing_left.take(nodes),
            self.categorical.take(feature),
            None if self.subset is None else (self.subset, nodes),
        )

    def apply(self, X: Floats, root: int = 0) -> Ints:
        """Return the leaf of each row of X, shape (n,)."""
        X = np.ascontiguousarray(X)
        leaf = np.full(len(X), root, dtype=np.intp)
        rows = np.arange(len(X), dtype=np.intp)
        nodes = leaf
        while True:
            inside = self.feature.take(nodes) >= 0
            rows, nodes = rows[inside], nodes[inside]
            if not len(rows):
                return leaf
            left = self.goes_left(X, rows, nodes)
            nodes = np.where(left, self.left.take(nodes), self.right.take(nodes))
            leaf[rows] = nodes

    def collapse(self, into_leaf: Bools) -> tuple[Tree, Ints]:
        """Return the tree in which the marked nodes are leaves, and where nodes went.

        The second array, shape (nodes,), holds for every old node its new number, or
        that of the new leaf that has taken it up.
        """
        where = np.arange(self.node_count)
        gone = np.zeros(self.node_count, dtype=bool)
        for node in range(self.node_count):  # parents come before their children
            above = self.parent[node]
            if above >= 0 and (gone[above] or into_leaf[above]):
                gone[node] = True
                where[node] = where[above]
        number = np.cumsum(~gone) - 1
        kept = np.flatnonzero(~gone)
        leaf = (self.feature < 0) | into_leaf
        inner = ~leaf[kept]

        def link(old: Ints) -> Ints:
            return np.where(inner, number[old[kept]], -1)

        parent = self.parent[kept]
        return (
            Tree(
                feature=np.where(inner, self.feature[kept], -1),
                threshold=np.where(inner, self.threshold[kept], 0.0),
                gain=np.where(inner, self.gain[kept], 0.0),
                left=link(self.left),
                right=link(self.right),
                parent=np.where(parent >= 0, number[parent], -1),
                missing_left=self.missing_left[kept] & inner,
                subset=None if self.subset is None else self.subset[kept],
                sums=self.sums[:, kept],
                count=self.count[kept],
                depth=self.depth[kept],
                categorical=self.categorical,
            ),
            number[where],
        )


def send_left(
    x: Floats,
    threshold: Floats,
    missing_left: Bools,
    categorical: Bools,
    subset: tuple[Bools, Ints] | None,
) -> Bools:
    """Return where the values x go left; one entry of every argument for each row."""
    left = x <= threshold
    if subset is not None and categorical.any():
        table, nodes = subset
        at = np.flatnonzero(categorical)
        code = np.nan_to_num(x[at], nan=-1.0)
        known = (code >= 0) & (code < table.shape[1]) & (code == np.floor(code))
        column = np.where(known, code, 0).astype(np.intp)
        left[at] = table[nodes[at], column] & known
    missing = np.isnan(x)
    if missing.any():
        left[missing] = missing_left[missing]
    return left


class _Builder:
    """Collects the nodes of a growing tree."""

    def __init__(self, categorical: Bools) -> None:
        self.categorical = categorical
        self.size = 0
        self.added: list[tuple[Any, ...]] = []  # nodes as they arrive, batch by batch
        self.split: list[tuple[Any, ...]] = []  # splits of nodes that arrived earlier

    def add(self, frontier: Frontier, depth: Any) -> Ints:
        """Add the nodes of a frontier; return their numbers."""
        numbers = self.size + np.arange(len(frontier.counts))
        self.size += len(numbers)
        self.added.append(
            (frontier.sums, frontier.counts, np.broadcast_to(depth, len(numbers)))
        )
        return numbers

    def cut(self, nodes: Ints, splits: Splits, chosen: Any, children: Ints) -> None:
        """Record how ``nodes`` were split and which numbers their children have."""
        subset = None if splits.subset is None else splits.subset[chosen]
        self.split.append(
            (nodes, splits.feature[chosen], splits.threshold[chosen],
             splits.gain[chosen], splits.missing_left[chosen], subset,
             children[::2], children[1::2])
        )

    def tree(self) -> Tree:
        n = self.size
        sums, count, depth = (np.concatenate(parts, axis=-1)
                              for parts in zip(*self.added, strict=True))
        feature, left, right, parent = np.full((4, n), -1, dtype=np.intp)
        threshold, gain = np.zeros((2, n))
        missing_left = np.zeros(n, dtype=bool)
        widths = [s[5].shape[1] for s in self.split if s[5] is not None]
        subset = np.zeros((n, max(widths)), dtype=bool) if widths else None
        for nodes, f, t, g, missing, table, first, second in self.split:
            feature[nodes], threshold[nodes], gain[nodes] = f, t, g
            missing_left[nodes] = missing
            left[nodes], right[nodes] = first, second
            parent[first] = parent[second] = nodes
            if table is not None:
                subset[nodes] = table
        return Tree(feature, threshold, gain, left, right, parent, missing_left, subset,
                    sums, count, depth, self.categorical)


def grow(
    finder: Any,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    min_gain: float = -np.inf,
) -> tuple[Tree, Ints]:
    """Grow a tree, or one from each of the finder's roots at once.

    A node is split where its depth is below ``max_depth`` (None: no limit) and its best
    split gains more than ``min_gain``. With ``max_leaf_nodes`` the open node of largest
    gain is split first, until there are that many leaves; without, the tree grows level
    by level. Returns the tree and the leaf of every row that the finder knows.
    """
    depth_limit = np.inf if max_depth is None else max_depth
    builder = _Builder(finder.categorical)
    leaf = np.full(finder.n_rows, -1, dtype=np.intp)
    grow_by = _by_level if max_leaf_nodes is None else _best_first
    grow_by(finder, builder, leaf, depth_limit, min_gain, max_leaf_nodes)
    return builder.tree(), leaf


def _by_level(
    finder: Any, builder: _Builder, leaf: Ints, depth_limit: float, min_gain: float,
    max_leaf_nodes: int | None,
) -> None:
    frontier, depth = finder.root(), 0
    nodes = builder.add(frontier, depth)
    while True:
        rows, node = finder.rows_and_nodes(frontier)
        leaf[rows] = nodes.take(node)
        if depth >= depth_limit:
            return
        splits = finder.best(frontier)
        chosen = splits.gain > min_gain
        if not chosen.any():
            return
        depth += 1
        frontier = finder.children(frontier, splits, chosen, depth >= depth_limit)
        children = builder.add(frontier, depth)
        builder.cut(nodes[chosen], splits, chosen, children)
        nodes = children


def _best_first(
    finder: Any, builder: _Builder, leaf: Ints, depth_limit: float, min_gain: float,
    max_leaf_nodes: int | None,
) -> None:
    waiting: list[tuple[Any, ...]] = []  # largest gain first, then the oldest node

    def open_nodes(frontier: Any, numbers: Ints, depth: int, last: bool) -> None:
        rows, node = finder.rows_and_nodes(frontier)
        leaf[rows] = numbers.take(node)
        if last:
            return
        splits = finder.best(frontier)
        for k in np.flatnonzero(splits.gain > min_gain):
            heapq.heappush(
                waiting,
                (-splits.gain[k], numbers[k], depth, finder.select(frontier, k),
                 take_split(splits, k)),
            )

    root = finder.root()
    open_nodes(root, builder.add(root, 0), 0, depth_limit == 0)
    leaves = len(root.counts)
    chosen = np.array([True])
    while waiting and leaves < max_leaf_nodes:
        _, number, depth, frontier, split = heapq.heappop(waiting)
        last = leaves + 1 >= max_leaf_nodes or depth + 1 >= depth_limit
        pair = finder.children(frontier, split, chosen, last)
        numbers = builder.add(pair, depth + 1)
        builder.cut(np.array([number]), split, chosen, numbers)
        leaves += 1
        open_nodes(pair, numbers, depth + 1, last)


def take_split(splits: Splits, k: int) -> Splits:
    """Return the split of node k alone."""
    at = slice(k, k + 1)
    return Splits(
        splits.gain[at], splits.feature[at], splits.threshold[at],
        splits.missing_left[at],
        None if splits.subset is None else splits.subset[at],
        None if splits.position is None else splits.position[at],
    )
