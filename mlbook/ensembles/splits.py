"""Exact split finding: every cut between two neighbouring values is priced.

For one feature, sort the rows of a node and let a running sum of the statistics walk
along them: it holds the sums of the part before each cut, and the node's sums minus it
those of the part behind. All nodes of a level are handled at once: their rows lie one
node after the other, and the running sum starts anew where a node begins.

The rows of every node are either sorted when they are needed (forests, where each node
looks at features of its own) or taken from orders that are sorted once and split along
with the nodes (boosting, which grows many trees on the same X).

Source: the presorted layout is that of SLIQ (Mehta, Agrawal and Rissanen, 1996).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlbook.ensembles.criteria import Criterion, SquaredError
from mlbook.ensembles.tree import Bools, Ints, Splits, send_left
from mlbook.validation import Floats


# The running sums of that many positions stay in the cache of a processor core.
POSITIONS_AT_ONCE = 20_000


@dataclass
class OpenNodes:
    """Nodes that may be split; the rows of node 0 come first, then those of node 1, ...

    Attributes
    ----------
    order : ndarray of shape (d, M) or (1, M), row numbers by node; with d orders, each
        is sorted by its feature within the nodes
    counts : ndarray of shape (m,), rows of each node
    sums : ndarray of shape (s, m), statistics of each node
    copies : int, how often the same nodes stand there, one time for each of as many
        features
    """

    order: Ints
    counts: Ints
    sums: Floats
    copies: int = 1

    @cached_property
    def starts(self) -> Ints:
        """The first position of each node, shape (m,)."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def ends(self) -> Ints:
        """The last position of each node, shape (m,)."""
        return self.starts + self.counts - 1

    @cached_property
    def node(self) -> Ints:
        """The node of each position, shape (M,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def n_up_to(self) -> Ints:
        """How many rows of the node there are up to each position, shape (M,)."""
        return np.arange(len(self.node)) - np.repeat(self.starts - 1, self.counts)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each position the entry of its node; values are (..., m)."""
        return np.repeat(values, self.counts, axis=-1)

    @cached_property
    def sums_at(self) -> Floats:
        """The sums of the node of each position, shape (s, M)."""
        return self.spread(self.sums)


class Columns:
    """The features of X, prepared once for all trees that are grown on it.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    rank : ndarray of shape (d, n), the position of each value among the distinct values
        of its feature, ascending; missing values come last
    missing : ndarray of shape (d,) of bool, where a feature has missing values
    order : ndarray of shape (d, n), the rows sorted by each feature, ascending or
        descending, missing values last; None unless ``presort``
    """

    def __init__(
        self,
        X: Floats,
        presort: bool = False,
        descending: bool = False,
        categorical: Bools | None = None,
    ) -> None:
        n, d = X.shape
        self.X = np.ascontiguousarray(X)
        self.by_column = np.ascontiguousarray(X.T)
        self.descending = descending
        self.categorical = np.zeros(d, bool) if categorical is None else categorical
        self.rank = np.empty((d, n), dtype=np.int32)
        self.order = np.empty((d, n), dtype=np.intp) if presort else None
        self.missing = np.isnan(self.by_column[:, :]).any(axis=1)
        self.tied = np.zeros(d, dtype=bool)
        for f, values in enumerate(self.by_column):
            order = np.argsort(values, kind="stable")  # NaN last
            ranked = values.take(order)
            # NaN differs from NaN: all missing values share the last rank
            new = (ranked[1:] != ranked[:-1]) & ~np.isnan(ranked[:-1])
            self.tied[f] = not new.all()
            self.rank[f, order] = np.concatenate([[0], np.cumsum(new)])
            if presort:
                if descending:
                    present = n - np.count_nonzero(np.isnan(ranked))
                    order[:present] = order[:present][::-1].copy()
                self.order[f] = order


@dataclass
class _Scan:
    """The best cut of one feature in each node."""

    gain: Floats  # (m,), without the node's own score; -inf where there is no cut
    position: Ints  # (m,), the last position before the cut
    second_missing: Bools  # (m,), missing values belong behind the cut


class ExactSplits:
    """Finds the best of all cuts; grows one tree, or several at once.

    Parameters
    ----------
    columns : Columns
    stats : ndarray of shape (s, N), the statistics of each row to be summed
    criterion : Criterion
    min_samples_leaf : int, the least number of rows in a child
    min_samples_split : int, the least number of rows in a node that is split
    max_features : int, features that a node looks at, drawn for each node; more only
        while none of them offers a cut. None: all, without drawing
    rng : Generator, for ``max_features``
    target : ndarray of shape (N,), optional; where it is constant nothing is split
    x_row : ndarray of shape (N,), optional; the row of X of each of the N rows, for
        trees on different samples of the same X
    tree : ndarray of shape (N,), optional, ascending; the tree of each of the N rows
    missing : "learn" sends missing values to the side where they gain most; "ignore"
        prices a cut on the rows that have the value
    single : cut at the float32 midpoint and test x < cut, as the xgboost library does
    """

    def __init__(
        self,
        columns: Columns,
        stats: Floats,
        criterion: Criterion,
        *,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        max_features: int | None = None,
        rng: np.random.Generator | None = None,
        target: NDArray[Any] | None = None,
        x_row: Ints | None = None,
        tree: Ints | None = None,
        missing: str = "learn",
        single: bool = False,
    ) -> None:
        self.columns, self.criterion = columns, criterion
        self.categorical = columns.categorical
        self.n_rows = stats.shape[1]
        self.n_stats = len(stats)
        self.packed = pack(stats)
        self.stats = stats
        # Its gain is the same for y - c. With c the mean of each node the scores are
        # those of differences within the node, which far nodes cannot drown.
        self.centred = isinstance(criterion, SquaredError)
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = max(min_samples_split, 2 * min_samples_leaf)
        self.max_features, self.rng = max_features, rng
        # with features of their own, nodes cannot share one sorted order
        self.presorted = columns.order is not None and max_features is None
        self.target = target
        # a Generator draws int64, also where row numbers have 32 bits (Pyodide)
        self.x_row = None if x_row is None else x_row.astype(np.intp, copy=False)
        self.tree = tree
        self.missing, self.single = missing, single
        # Running sums of weighted and of repeated rows round differently: what differs
        # by less than this share is a tie. The xgboost library compares what it has.
        self.slack = 0.0 if single else 1e-11
        if self.presorted and (x_row is not None or tree is not None):
            raise ValueError("Presorted columns hold every row of X once: x_row and tree "
                             "need columns that are not presorted.")

    # What the grower calls

    def root(self) -> OpenNodes:
        """Return the root, or the roots, as open nodes."""
        if self.tree is None:
            counts = np.array([self.n_rows])
        else:
            counts = np.bincount(self.tree)
        if self.presorted:
            order = self.columns.order
        else:
            order = np.arange(self.n_rows, dtype=np.intp)[np.newaxis]
        starts = np.cumsum(counts) - counts
        return OpenNodes(order, counts, np.add.reduceat(self.stats, starts, axis=1))

    def rows_and_nodes(self, frontier: OpenNodes) -> tuple[Ints, Ints]:
        """Return the rows and the node of each, both of shape (M,)."""
        return frontier.order[0], frontier.node

    def select(self, frontier: OpenNodes, k: int) -> OpenNodes:
        """Return node k alone."""
        start = frontier.starts[k]
        at = slice(start, start + frontier.counts[k])
        return OpenNodes(
            frontier.order[:, at], frontier.counts[k : k + 1],
            frontier.sums[:, k : k + 1],
        )

    def children(
        self, frontier: OpenNodes, splits: Splits, chosen: Bools,
        last: bool = False,
    ) -> OpenNodes:
        """Return the children of the chosen nodes: left, right, left, right, ..."""
        rows, node = self.rows_and_nodes(frontier)
        left = self.send(frontier, splits)
        number = 2 * (np.cumsum(chosen) - 1)
        n_children = 2 * int(chosen.sum())
        child = np.where(chosen[node], number[node] + ~left, n_children)
        counts = np.bincount(child, minlength=n_children + 1)
        kept = len(rows) - counts[-1]
        parents = frontier.order[:1] if last else frontier.order
        order = np.empty((len(parents), kept), dtype=np.intp)
        # stable sorting of 8 or 16 bits is one pass over the data for each byte
        small = np.min_scalar_type(n_children)
        of_row = np.empty(self.n_rows, dtype=small)
        of_row[rows] = child
        for old, new in zip(parents, order, strict=True):
            place = np.argsort(of_row.take(old), kind="stable")[:kept]
            old.take(place, out=new, mode="clip")
        counts = counts[:-1]
        starts = np.cumsum(counts) - counts
        sums = np.add.reduceat(self.stats.take(order[0], axis=1), starts, axis=1)
        return OpenNodes(order, counts, sums)

    def send(self, frontier: OpenNodes, splits: Splits) -> Bools:
        """Return where each row of the frontier goes left, shape (M,)."""
        rows, node = self.rows_and_nodes(frontier)
        feature = splits.feature.take(node)
        return send_left(
            self._values(rows, feature),
            splits.threshold.take(node),
            splits.missing_left.take(node),
            self.categorical.take(feature),
            None if splits.subset is None else (splits.subset, node),
        )

    def best(self, frontier: OpenNodes) -> Splits:
        """Return the best split of every node; of equal gains the first feature's."""
        m, d = len(frontier.counts), len(self.columns.rank)
        splits = Splits(
            np.full(m, -np.inf), np.zeros(m, np.intp), np.zeros(m), np.zeros(m, bool)
        )
        open_ = np.flatnonzero(self._splittable(frontier))
        if not len(open_):
            return splits
        sub = frontier if len(open_) == m else _restrict(frontier, open_)
        if self.presorted:
            self._try_all(sub, splits, open_)
            return splits
        features = self._features(len(open_))
        drawn = d if self.max_features is None else self.max_features
        for slot in range(d):
            if slot >= drawn:  # go on only where nothing could be cut yet
                none = splits.gain[open_] == -np.inf
                if not none.any():
                    break
                if not none.all():
                    sub = _restrict(sub, np.flatnonzero(none))
                    open_, features = open_[none], features[none]
            self._try_feature(sub, features[:, slot], splits, open_)
        return splits

    # One feature for each node, or several side by side

    def _splittable(self, frontier: OpenNodes) -> Bools:
        enough = frontier.counts >= self.min_samples_split
        if self.target is not None:
            target = self.target.take(frontier.order[0])
            low = np.minimum.reduceat(target, frontier.starts)
            enough &= low < np.maximum.reduceat(target, frontier.starts)
        return enough

    def _features(self, m: int) -> Ints:
        d = len(self.columns.rank)
        if self.max_features is None:
            return np.broadcast_to(np.arange(d), (m, d))
        return np.argsort(self.rng.random((m, d), dtype=np.float32), axis=1)

    def _try_all(self, nodes: OpenNodes, splits: Splits, into: Ints) -> None:
        """Price the cuts of all features, as many at once as keep the arrays small.

        The nodes then stand there once for each feature: fewer and longer operations.
        """
        d, n_positions = nodes.order.shape
        missing, wide, first = self.columns.missing, nodes, 0
        while first < d:
            # a feature with missing values is priced in another way than one without
            other = np.flatnonzero(missing[first:] != missing[first])
            last = min(d, first + max(1, POSITIONS_AT_ONCE // n_positions),
                       first + other[0] if len(other) else d)
            copies = last - first
            if wide is nodes or copies != wide.copies:
                wide = OpenNodes(nodes.order, np.tile(nodes.counts, copies),
                                 np.tile(nodes.sums, copies), copies)
            wide.order = nodes.order[first:last].reshape(1, -1)
            self._try_feature(
                wide, np.repeat(np.arange(first, last), len(into)), splits, into
            )
            first = last

    def _try_feature(
        self, nodes: OpenNodes, feature: Ints, splits: Splits, into: Ints
    ) -> None:
        """Price the cuts of feature[k] in node k; keep those that beat ``splits``."""
        order, key, tables = self._sorted(nodes, feature)
        scan, parent = self._scan(nodes, feature, order, key)
        gain = scan.gain.astype(np.float64) - parent
        sure = gain - _allowance(scan.gain, self.slack)
        # of equal gains, that of the first feature
        m = len(into)
        least = sure.reshape(-1, m).max(axis=0)
        k = (gain.reshape(-1, m) >= least).argmax(axis=0) * m + np.arange(m)
        better = sure[k] > splits.gain[into]
        if not better.any():
            return
        k, at = k[better], into[better]
        splits.gain[at] = gain[k]
        splits.feature[at] = feature[k]
        self._place_cut(nodes, feature, order, key, tables, scan, k, splits, at)

    def _sorted(
        self, nodes: OpenNodes, feature: Ints
    ) -> tuple[Ints, Ints | None, dict[int, Ints]]:
        """Return the rows sorted within the nodes, their sort keys, category ranks.

        There are no keys where no values are equal.
        """
        rows = nodes.order[0]
        if self.presorted and not self.columns.tied[feature].any():
            return rows, None, {}
        of_position = np.repeat(feature, nodes.counts)
        key = self.columns.rank.ravel().take(
            of_position * self.columns.rank.shape[1] + self._x_rows(rows)
        )
        if self.presorted:
            return rows, key, {}
        tables = self._order_categories(nodes, feature, key)
        by_key = sort_within(nodes.node, key)
        return rows.take(by_key), key.take(by_key), tables

    def _scan(
        self, nodes: OpenNodes, feature: Ints, order: Ints, key: Ints | None
    ) -> tuple[_Scan, Any]:
        """Return the best cut of each node and the score that its gain starts from."""
        if self.centred:
            nodes, first = self._centred(nodes, order)
        else:
            first = running_sums(self.packed, self.n_stats, order, nodes)
        blocked = np.zeros(len(order), dtype=bool)
        if key is not None:  # equal values cannot be parted
            np.equal(key[1:], key[:-1], out=blocked[:-1])
        blocked[nodes.ends] = True
        if self.columns.missing[feature].any():
            present = self._present(nodes, feature, order)
            scan = self._scan_present if self.missing == "ignore" else self._scan_twice
            return scan(nodes, present, first, blocked)
        blocked = self._block_small(blocked, nodes.n_up_to, nodes, nodes.counts)
        best, position = best_in_segments(
            self._gains(first, nodes.sums_at, blocked), nodes.starts, nodes.counts,
            slack=self.slack,
        )
        return _Scan(best, position, np.zeros(len(best), dtype=bool)), self._own(nodes)

    def _centred(self, nodes: OpenNodes, order: Ints) -> tuple[OpenNodes, Floats]:
        """Return the nodes and the running sums for y less the mean of each node."""
        rows = self.packed[0].take(order)  # w + i wy
        rows.imag -= nodes.spread(self.criterion.mean(nodes.sums)) * rows.real
        first = running_sums([rows], 2, np.arange(len(order)), nodes)
        return replace(nodes, sums=first[:, nodes.ends]), first

    def _scan_present(
        self, nodes: OpenNodes, n_present: Ints, first: Floats, blocked: Bools
    ) -> tuple[_Scan, Any]:
        """Return the best cuts of the rows that have a value, and these rows' scores."""
        ends = nodes.starts + np.maximum(n_present, 1) - 1
        present = np.where(n_present > 0, first[:, ends], 0.0)
        blocked |= nodes.n_up_to > np.repeat(n_present, nodes.counts)
        blocked[ends] = True
        blocked = self._block_small(blocked, nodes.n_up_to, nodes, n_present)
        best, position = best_in_segments(
            self._gains(first, np.repeat(present, nodes.counts, axis=1), blocked),
            nodes.starts, nodes.counts, slack=self.slack,
        )
        parent = self.criterion.score(present).astype(np.float64)
        return _Scan(best, position, np.ones(len(best), dtype=bool)), parent

    def _scan_twice(
        self, nodes: OpenNodes, n_present: Ints, first: Floats, blocked: Bools
    ) -> tuple[_Scan, Any]:
        """Return the best cuts with what is missing behind them or in front of them."""
        starts, counts = nodes.starts, nodes.counts
        ends = starts + np.maximum(n_present, 1) - 1
        blocked |= nodes.n_up_to > np.repeat(n_present, counts)
        away = blocked.copy()
        # all that is present on one side, all that is missing on the other
        blocked[ends] = (n_present == counts) | (n_present == 0)
        blocked = self._block_small(blocked, nodes.n_up_to, nodes, counts)
        best, position = best_in_segments(
            self._gains(first, nodes.sums_at, blocked), starts, counts, slack=self.slack
        )
        # The same cuts with the missing values on the first side. Both passes price the
        # nodes in which nothing is missing alike; the xgboost library makes this pass
        # first, from the other end, so that it wins among equal gains.
        away[ends] = True
        present = np.where(n_present > 0, first[:, ends], 0.0)
        second = np.repeat(present, counts, axis=1) - first
        second[:, away] = 0.0  # behind the present values it would be negative
        n_second = np.repeat(n_present, counts) - nodes.n_up_to
        away = self._block_small(away, n_second, nodes, counts)
        other, other_position = best_in_segments(
            self._gains(second, nodes.sums_at, away), starts, counts, last=True,
            slack=self.slack,
        )
        turned = (other >= best) & (other > -np.inf)
        # in the first pass what is missing lies behind the cut
        return _Scan(np.where(turned, other, best),
                     np.where(turned, other_position, position),
                     ~turned), self._own(nodes)

    def _own(self, nodes: OpenNodes) -> Floats:
        return self.criterion.score(nodes.sums).astype(np.float64)

    def _block_small(
        self, blocked: Bools, n_side: Ints, nodes: OpenNodes, n_total: Ints
    ) -> Bools:
        """Return ``blocked``, and also where a side has too few rows."""
        least = self.min_samples_leaf
        if least <= 1:
            return blocked
        n_rest = np.repeat(n_total, nodes.counts) - n_side
        return blocked | (n_side < least) | (n_rest < least)

    def _gains(
        self, side: Floats, base: Floats, blocked: Bools
    ) -> NDArray[np.floating[Any]]:
        """Return score(side) + score(rest) at every position; -inf: not allowed."""
        rest = base - side
        gain = self.criterion.score(side) + self.criterion.score(rest)
        for part in (side, rest):
            allowed = self.criterion.allowed(part)
            if allowed is not None:
                blocked = blocked | ~allowed
        np.copyto(gain, -np.inf, where=blocked)
        return gain

    def _place_cut(
        self, nodes: OpenNodes, feature: Ints, order: Ints, key: Ints,
        tables: dict[int, Ints], scan: _Scan, better: Ints, splits: Splits, at: Ints,
    ) -> None:
        """Write threshold, subset and the side of missing values into ``splits``."""
        position, feature = scan.position[better], feature[better]
        end = nodes.ends[better]
        here = self._values(order[position], feature)
        after = self._values(order[np.minimum(position + 1, end)], feature)
        # behind the last present value there is nothing, or a missing value
        after[position == end] = np.nan
        if self.columns.descending:
            here, after = after, here
        splits.threshold[at] = cut_between(here, after, self.single)
        before = self.columns.descending  # the first side is the right one
        splits.missing_left[at] = scan.second_missing[better] == before
        for f in np.unique(feature[self.categorical[feature]]):
            chosen = feature == f
            self._place_subset(tables[f], better[chosen], key[position[chosen]],
                               splits, at[chosen])

    # Categories

    def _order_categories(self, nodes: OpenNodes, feature: Ints, key: Ints) -> dict:
        """Replace the keys of categorical features by ranks that hold in each node.

        In a node the categories are ordered by the mean of the target, or the share of
        the second class: one of the cuts of that order is the best of all subsets
        (Fisher, 1958). With K > 2 classes they are ordered along the first principal
        component of their class shares, which is only a good guess (Coppersmith, Hong
        and Hosking, 1999).
        """
        tables: dict[int, Ints] = {}
        for f in np.unique(feature[self.categorical[feature]]):
            mine = np.repeat(feature == f, nodes.counts)
            width = int(self.columns.rank[f].max()) + 1
            m, node = len(nodes.counts), nodes.node[mine]
            cell = node * width + key[mine]
            stats = self.stats[:, nodes.order[0][mine]]
            sums = np.stack([np.bincount(cell, s, m * width) for s in stats])
            sums = sums.reshape(-1, m, width)
            rank = np.argsort(np.argsort(category_scores(sums), axis=1), axis=1)
            if self.columns.missing[f]:  # the last rank is that of missing values
                last = rank[:, -1:].copy()
                rank[:, :-1] -= rank[:, :-1] > last
                rank[:, -1] = width - 1
            key[mine] = rank[node, key[mine]]
            tables[int(f)] = rank
        return tables

    def _place_subset(
        self, rank: Ints, nodes: Ints, last_rank: Ints, splits: Splits, at: Ints
    ) -> None:
        f = splits.feature[at[0]]
        distinct = np.unique(self.columns.by_column[f])
        codes = distinct[~np.isnan(distinct)].astype(np.intp)
        width = int(np.nanmax(self.columns.X[:, self.categorical])) + 1
        if splits.subset is None:
            splits.subset = np.zeros((len(splits.gain), width), dtype=bool)
        left = rank[nodes][:, : len(codes)] <= last_rank[:, np.newaxis]
        splits.subset[at] = False
        splits.subset[at[:, np.newaxis], codes] = left

    # Rows

    def _x_rows(self, rows: Ints) -> Ints:
        return rows if self.x_row is None else self.x_row.take(rows)

    def _values(self, rows: Ints, feature: Ints) -> Floats:
        X = self.columns.X
        return X.ravel().take(self._x_rows(rows) * X.shape[1] + feature)

    def _present(self, nodes: OpenNodes, feature: Ints, order: Ints) -> Ints:
        """Return how many rows of each node have a value, shape (m,)."""
        values = self._values(order, np.repeat(feature, nodes.counts))
        return np.add.reduceat(~np.isnan(values), nodes.starts, dtype=np.intp)


def _restrict(nodes: OpenNodes, kept: Ints) -> OpenNodes:
    """Return some of the nodes, with their rows."""
    keep = np.zeros(len(nodes.counts), dtype=bool)
    keep[kept] = True
    inside = np.repeat(keep, nodes.counts)
    return OpenNodes(nodes.order[:, inside], nodes.counts[kept], nodes.sums[:, kept])


def pack(stats: Floats) -> list[NDArray[Any]]:
    """Return the statistics two by two as complex numbers, the odd one as it is.

    Gathering and summing a complex array costs as much as a real one: g + ih halves the
    work of the running sums.
    """
    s = len(stats)
    packed: list[NDArray[Any]] = [
        stats[k] + 1j * stats[k + 1] for k in range(0, s - 1, 2)
    ]
    return packed + ([stats[-1]] if s % 2 else [])


def running_sums(
    packed: list[NDArray[Any]], n_stats: int, order: Ints, nodes: OpenNodes
) -> Floats:
    """Return the sums of each node's rows up to every position, shape (s, M)."""
    sums = np.empty((n_stats, len(order)))
    m = len(nodes.counts) // nodes.copies
    for k, values in enumerate(packed):
        running = values.take(order)
        copies = running.reshape(nodes.copies, -1)
        np.cumsum(copies, axis=1, out=copies)
        if m > 1:
            before = running[nodes.starts - 1]
            before[::m] = 0
            running -= nodes.spread(before)
        sums[2 * k] = running.real
        if 2 * k + 1 < n_stats:
            sums[2 * k + 1] = running.imag
    return sums


def best_in_segments(
    gain: NDArray[np.floating[Any]], starts: Ints, counts: Ints, last: bool = False,
    slack: float = 0.0,
) -> tuple[NDArray[np.floating[Any]], Ints]:
    """Return the largest gain of each segment and its first (or last) position.

    Gains that differ from the largest by a share of at most ``slack`` equal it.
    """
    best = np.maximum.reduceat(gain, starts)
    least = best - _allowance(best, slack)
    hits = np.flatnonzero(gain >= np.repeat(least, counts))
    if last:
        return best, hits[np.searchsorted(hits, starts + counts) - 1]
    return best, hits[np.searchsorted(hits, starts)]


def _allowance(gain: NDArray[np.floating[Any]], slack: float) -> Any:
    """Return ``slack`` times the size of each gain; 0 where nothing can be cut."""
    if not slack:
        return 0.0
    return slack * np.where(np.isfinite(gain), np.abs(gain), 0.0)


def sort_within(node: Ints, key: NDArray[np.integer[Any]]) -> Ints:
    """Return the positions ordered by node, then key, then position.

    The three are packed into one 64-bit integer where they fit: sorting integers is
    several times faster than sorting indices.
    """
    n = len(node)
    position_bits = max(n - 1, 1).bit_length()
    key_bits = max(int(key.max(initial=0)), 1).bit_length()
    node_bits = max(int(node[-1]) if n else 0, 1).bit_length()
    if position_bits + key_bits + node_bits > 62:
        return np.lexsort((key, node))
    packed = node.astype(np.int64) << key_bits
    packed |= key
    packed <<= position_bits
    packed |= np.arange(n)
    packed.sort()
    packed &= (1 << position_bits) - 1
    return packed.astype(np.intp, copy=False)


def category_scores(sums: Floats) -> Floats:
    """Return a number for each category, (m, q), along which to order it; empty last.

    ``sums`` is (s, m, q): (w, wy) gives the mean, two classes the share of the second,
    more classes the first principal component of the shares.
    """
    empty = ~sums.any(axis=0)
    if len(sums) == 2:
        weight = sums[0] if (sums[0] >= 0).all() else np.abs(sums[0])
        weight = np.where(empty, 1.0, weight)
        with np.errstate(divide="ignore"):
            scores = sums[1] / weight
    else:
        weight = sums.sum(axis=0)
        share = sums / np.where(empty, 1.0, weight)
        total = weight.sum(axis=1)  # 0 in a node that asks for another feature
        mean = (share * weight).sum(axis=2) / np.where(total > 0, total, 1.0)
        centred = share - mean[:, :, np.newaxis]
        spread = np.einsum("kmq,lmq,mq->mkl", centred, centred, weight)
        direction = np.linalg.eigh(spread)[1][:, :, -1]
        scores = np.einsum("kmq,mk->mq", centred, direction)
    return np.where(empty, np.inf, scores)


def cut_between(low: Floats, high: Floats, single: bool = False) -> Floats:
    """Return t with low <= t < high, halfway where that is possible.

    A missing ``high`` leaves everything that is present below the cut (t = inf), a
    missing ``low`` above it (t = -inf). The halves are added, because the sum of two
    large values overflows; and the midpoint of neighbouring floats can round to the
    upper one. With ``single`` the rule is x < midpoint in float32, written as x <= the
    float32 before it.
    """
    kind = np.float32 if single else np.float64
    low, high = low.astype(kind), high.astype(kind)
    middle = low * kind(0.5) + high * kind(0.5)
    if single:
        with np.errstate(over="ignore"):  # then the cut is at low
            middle = np.nextafter((low + high) * kind(0.5), kind(-np.inf))
        middle = np.maximum(middle, low)
    cut = np.where(middle < high, middle, low).astype(np.float64)
    cut = np.where(np.isnan(high), np.inf, cut)
    return np.where(np.isnan(low), -np.inf, cut)
