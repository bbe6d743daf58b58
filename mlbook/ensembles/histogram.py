"""Histogram split finding: features in at most 256 bins, cuts only between bins.

Each feature is replaced once by the number of its bin. The sums of a node are collected
bin by bin, with one pass over its rows; after a running sum over the bins every cut is
priced at once. The histogram of one child is that of its parent minus that of the other
child, so only the smaller child's rows are ever visited.

Sources: the histogram algorithm of Chen and Guestrin (2016) and Ke et al. (2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlbook.ensembles.criteria import Criterion
from mlbook.ensembles.splits import cut_between
from mlbook.ensembles.tree import Ints, Splits
from mlbook.validation import Floats, as_float

MAX_BINS = 256


def bin_edges(X: Floats, max_bin: int = MAX_BINS, single: bool = False) -> list[Floats]:
    """Return the cuts of every feature, ascending: x <= edges[0] is in bin 0.

    A feature with at most ``max_bin`` distinct values has a bin for each of them; one
    with more has bins of about equally many rows. ``single`` puts the cuts where the
    xgboost library puts a cut between two values.
    """
    edges = []
    for values in X.T:
        values = np.sort(values[~np.isnan(values)])
        new = np.append(True, values[1:] != values[:-1])[: len(values)]
        first = np.flatnonzero(new)  # of each distinct value
        opens = np.arange(1, len(first))
        if len(first) > max_bin:
            opens = _spread(np.diff(first, append=len(values)), max_bin)
        edges.append(
            cut_between(values[first[opens - 1]], values[first[opens]], single)
        )
    return edges


def _spread(counts: Ints, max_bin: int) -> Ints:
    """Return which distinct values open a bin, so that bins hold about as many rows.

    A value that would fill two bins has one of its own; the others share the rest.
    """
    heavy = counts > 2 * counts.sum() / max_bin
    light = np.where(heavy, 0, counts)
    shared = max_bin - 2 * np.count_nonzero(heavy)  # a heavy value may cut a bin in two
    bin_of = (np.cumsum(light) - light) * shared // max(light.sum(), 1)
    new = np.diff(bin_of) > 0
    new |= heavy[1:] | heavy[:-1]
    return np.flatnonzero(new) + 1


class BinnedColumns:
    """The features of X as bin numbers, prepared once for all trees on that X.

    Parameters
    ----------
    X : ndarray of shape (n, d), NaN where a value is missing
    edges : list of d ascending arrays; x belongs to bin k = the number of edges below x

    Attributes
    ----------
    code : ndarray of shape (d, n); missing values have the last bin, ``n_bins``
    n_bins : int, bins of the feature that has most
    missing : ndarray of shape (d,) of bool, where a feature has missing values
    """

    def __init__(self, X: Floats, edges: Sequence[Floats]) -> None:
        got = len(edges) if hasattr(edges, "__len__") else repr(edges)
        if got != X.shape[1]:
            raise ValueError(
                f"edges must hold one array for each of the {X.shape[1]} features, got "
                f"{got}."
            )
        self.edges = [as_float(cuts, "edges", allow_nan=False) for cuts in edges]
        for f, cuts in enumerate(self.edges):
            if cuts.ndim != 1 or (cuts[1:] <= cuts[:-1]).any():
                raise ValueError(
                    f"The edges of feature {f} must be a 1-D array that ascends strictly."
                )
        self.n_bins = max(len(cuts) for cuts in self.edges) + 1
        self.categorical = np.zeros(X.shape[1], dtype=bool)
        self.code = np.empty(X.shape[::-1], dtype=np.min_scalar_type(self.n_bins))
        for f, (values, cuts) in enumerate(zip(X.T, self.edges, strict=True)):
            self.code[f] = np.searchsorted(cuts, values, side="left")
        absent = np.isnan(X.T)
        self.missing = absent.any(axis=1)
        self.code[absent] = self.n_bins
        self.by_row = np.ascontiguousarray(self.code.T)


@dataclass
class BinnedNodes:
    """Open nodes with their histograms.

    Attributes
    ----------
    rows : ndarray of shape (M,)
    node : ndarray of shape (M,), the node of each row
    counts : ndarray of shape (m,), sums : ndarray of shape (s, m)
    below : list of (histograms, nodes) with histograms of shape (bins, s, d, k), the
        sums up to every bin, of the k nodes with these numbers
    """

    rows: Ints
    node: Ints
    counts: Ints
    sums: Floats
    below: list[tuple[Floats, Ints]]


class HistogramSplits:
    """Finds the best cut between bins; a finder for ``tree.grow``.

    Only cuts that gain something are found: a relative gain below 1e-10 counts as none.

    Parameters
    ----------
    columns : BinnedColumns
    stats : ndarray of shape (s, n); rows without statistics still reach their leaf
    criterion : Criterion
    rows : ndarray of shape (N,), optional; the rows that the tree is grown on
    features : ndarray of bool of shape (d,), optional; the features it may use
    """

    last_of_equals = False  # which of the cuts of a feature with equal gains is taken

    def __init__(
        self,
        columns: BinnedColumns,
        stats: Floats,
        criterion: Criterion,
        *,
        rows: Ints | None = None,
        features: NDArray[np.bool_] | None = None,
    ) -> None:
        self.columns, self.stats, self.criterion = columns, stats, criterion
        self.categorical = columns.categorical
        self.n_rows = stats.shape[1]
        self.rows = np.arange(self.n_rows) if rows is None else rows
        self.features = features

    def root(self) -> BinnedNodes:
        """Return the root."""
        rows, node = self.rows, np.zeros(len(self.rows), dtype=np.intp)
        sums = self.stats[:, rows].sum(axis=1, keepdims=True)
        below = [(self._histogram(rows, node, 1), np.arange(1))]
        return BinnedNodes(rows, node, np.array([len(rows)]), sums, below)

    def rows_and_nodes(self, frontier: BinnedNodes) -> tuple[Ints, Ints]:
        """Return the rows and the node of each, both of shape (M,)."""
        return frontier.rows, frontier.node

    def select(self, frontier: BinnedNodes, k: int) -> BinnedNodes:
        """Return node k alone."""
        mine = frontier.node == k
        rows = frontier.rows[mine]
        below = [(block[..., nodes == k], np.arange(1))
                 for block, nodes in frontier.below if k in nodes]
        return BinnedNodes(
            rows, np.zeros(len(rows), dtype=np.intp), frontier.counts[k : k + 1],
            frontier.sums[:, k : k + 1], below,
        )

    def best(self, frontier: BinnedNodes) -> Splits:
        """Return the best split of every node; ties: first feature, then first bin."""
        m = len(frontier.counts)
        gain, missing_left = np.empty(m), np.empty(m, dtype=bool)
        feature, position = np.empty((2, m), dtype=np.intp)
        for block, nodes in frontier.below:
            gain[nodes], feature[nodes], position[nodes], missing_left[nodes] = (
                self._price(block, frontier.sums[:, nodes], frontier.counts[nodes])
            )
        threshold = np.array([
            self.columns.edges[f][k] if 0 <= k < len(self.columns.edges[f])
            else np.copysign(np.inf, k) for f, k in zip(feature, position, strict=True)
        ])
        return Splits(gain, feature, threshold, missing_left, None, position)

    def _price(
        self, below: Floats, node: Floats, counts: Ints
    ) -> tuple[Floats, Ints, Ints, NDArray[np.bool_]]:
        """Return gain, feature, last bin on the left and side of missing, all (m,)."""
        parent = self.criterion.score(node).astype(np.float64)
        total = node[:, np.newaxis, np.newaxis]
        has_missing = bool(self.columns.missing.any())
        # bin by bin: a cut behind the last bin would leave nothing on the right
        last = self.columns.n_bins - (0 if has_missing else 1)
        if last == 0:
            none = np.zeros(len(counts), dtype=np.intp)
            return np.full(len(counts), -np.inf), none, none, none.astype(bool)
        left = np.moveaxis(below[:last], 1, 0)  # (s, bins, d, m)
        gain, cut = _highest(
            self._gains(left, total, counts), self.last_of_equals
        )
        missing_left = np.zeros(gain.shape, dtype=bool)
        if has_missing:
            # the cut in front of bin k, with the missing values on the left of it: what
            # lies on the right is counted from the last bin down
            shifted = np.concatenate([np.zeros_like(below[:1]), below[: last - 1]])
            right = np.moveaxis(below[last - 1] - shifted, 1, 0)
            other = self._gains(right, total, counts)
            absent = np.moveaxis(below[-1] - below[-2], 0, 0).any(axis=0)
            other[:, ~absent] = -np.inf
            other, from_above = _highest(other[::-1])
            missing_left = other > gain
            gain = np.where(missing_left, other, gain)
            cut = np.where(missing_left, last - 2 - from_above, cut)
        if self.features is not None:
            gain[~self.features] = -np.inf
        feature = gain.argmax(axis=0)
        k = np.arange(gain.shape[1])
        scores = gain[feature, k].astype(np.float64)
        chosen = scores - parent
        # a cut with nothing on one side gains what rounding makes of 0
        chosen[chosen <= 1e-10 * np.abs(scores)] = -np.inf
        return chosen, feature, cut[feature, k], missing_left[feature, k]

    def _gains(self, side: Floats, total: Floats, counts: Ints) -> Any:
        """Return score(side) + score(rest), of shape (bins, d, m)."""
        rest = total - side
        gain = self.criterion.score(side) + self.criterion.score(rest)
        for part in (side, rest):
            allowed = self.criterion.allowed(part)
            if allowed is not None:
                np.copyto(gain, -np.inf, where=~allowed)
        return gain

    def children(
        self, frontier: BinnedNodes, splits: Splits, chosen: NDArray[np.bool_],
        last: bool = False,
    ) -> BinnedNodes:
        """Return the children of the chosen nodes: left, right, left, right, ..."""
        rows, node = frontier.rows, frontier.node
        if not chosen.all():
            kept = chosen[node]
            rows, node = rows[kept], node[kept]
        left = self._send(rows, node, splits)
        child = 2 * (np.cumsum(chosen) - 1).take(node) + ~left
        m = int(chosen.sum())
        counts = np.bincount(child, minlength=2 * m)
        # of each pair, the child with fewer rows is counted and the other subtracted
        small = 2 * np.arange(m) + (counts[1::2] < counts[::2])
        at_small = child == small.take(child >> 1)
        rows_small, pair = rows[at_small], child[at_small] >> 1
        sums = np.empty((len(self.stats), 2 * m))
        sums[:, small] = [np.bincount(pair, s[rows_small], m) for s in self.stats]
        sums[:, small ^ 1] = frontier.sums[:, chosen] - sums[:, small]
        if last:
            return BinnedNodes(rows, child, counts, sums, [])
        parents, order = _chosen_histograms(frontier.below, chosen)
        place = np.empty(m, dtype=np.intp)
        place[order] = np.arange(m)
        below = self._histogram(rows_small, place.take(pair), m)
        parents -= below
        blocks = [(below, small[order]), (parents, small[order] ^ 1)]
        return BinnedNodes(rows, child, counts, sums, blocks)

    def _send(self, rows: Ints, node: Ints, splits: Splits) -> NDArray[np.bool_]:
        codes = self.columns.by_row
        feature = splits.feature.take(node)
        code = codes.ravel().take(rows * codes.shape[1] + feature)
        left = code <= splits.position.take(node)
        if self.columns.missing.any():
            absent = code == self.columns.n_bins
            left = np.where(absent, splits.missing_left.take(node), left)
        return left

    def _histogram(self, rows: Ints, node: Ints, m: int) -> Floats:
        """Return the sums up to every bin, of shape (bins, s, d, m)."""
        bins = self.columns.n_bins + bool(self.columns.missing.any())
        sums = self._collect(self.columns.code, rows, node, m, bins)
        flat = sums.reshape(bins, -1)
        if flat.shape[1] < 128:
            np.cumsum(flat, axis=0, out=flat)
            return sums
        for b in range(1, bins):  # for long rows several times faster
            flat[b] += flat[b - 1]
        return sums

    def _collect(
        self, codes: NDArray[Any], rows: Ints, node: Ints, m: int, bins: int
    ) -> Floats:
        """Return the sums of each bin, of shape (bins, s, len(codes), m).

        One weighted count fills the histograms of all nodes and of as many features as
        keep the keys in the processor's cache.
        """
        d = len(codes)
        out = np.empty((bins, len(self.stats), d, m))
        step = max(1, min(d, 40_000 // max(len(rows), 1)))
        everything = len(rows) == self.n_rows  # rows ascend: they are all there
        stats = [s if everything else s.take(rows) for s in self.stats]
        weights = [np.tile(s, step) if step > 1 else s for s in stats]
        offset = (np.arange(step) * m)[:, np.newaxis] + node
        for f in range(0, d, step):
            code = codes[f : f + step]
            wide = len(code) * m
            key = code if everything else code.take(rows, axis=1)
            key = np.multiply(key, wide, dtype=np.intp)
            key += offset[: len(code)]
            key = key.ravel()
            for k, weight in enumerate(weights):
                filled = np.bincount(key, weight[: len(key)], bins * wide)
                out[:, k, f : f + step] = filled.reshape(bins, len(code), m)
        return out


def _highest(gain: Any, last: bool = False) -> tuple[Any, Ints]:
    """Return the largest gain along the bins and the first (or last) bin with it."""
    at = len(gain) - 1 - gain[::-1].argmax(axis=0) if last else gain.argmax(axis=0)
    return np.take_along_axis(gain, at[np.newaxis], 0)[0], at


def _chosen_histograms(
    blocks: list[tuple[Floats, Ints]], chosen: NDArray[np.bool_]
) -> tuple[Floats, Ints]:
    """Return a copy of the chosen nodes' histograms and their numbers among these."""
    number = np.cumsum(chosen) - 1
    parts = [(block[..., chosen[nodes]], number[nodes[chosen[nodes]]])
             for block, nodes in blocks]
    histograms, numbers = zip(*parts, strict=True)
    return np.concatenate(histograms, axis=-1), np.concatenate(numbers)
