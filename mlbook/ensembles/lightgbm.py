"""LightGBM: leaf-wise trees on histograms, sampled by gradient, with bundled features.

The boosted model and the leaf's value are those of the second-order derivation. What is
new is how a tree is grown: the open leaf of largest gain is split first; rows with small
slopes may be sampled (GOSS); and features that are never non-zero together share one
histogram (EFB).

Source: Ke, Meng, Finley, Wang, Chen, Ma, Ye and Liu (2017). Slopes and curvatures are
rounded to float32 as in the lightgbm library, whose trees these are when nothing is
sampled and every distinct value has a bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Newton
from mlbook.ensembles.histogram import BinnedColumns, HistogramSplits, bin_edges
from mlbook.ensembles.tree import Ints, Tree, grow
from mlbook.validation import (
    Floats,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

# Leaf-wise growth


class LeafWiseSplits(HistogramSplits):
    """Histogram splits by the lightgbm library's rules.

    Cuts are tried from the last bin down, so that of equal gains the highest cut wins;
    and a child needs ``min_child_samples`` rows, whose number is not counted but
    estimated bin by bin from the curvature, round(h n / H).
    """

    last_of_equals = True

    def __init__(
        self, columns: BinnedColumns, stats: Floats, criterion: Newton,
        min_child_samples: int, **options: Any,
    ) -> None:
        super().__init__(columns, stats, criterion, **options)
        self.min_child_samples = min_child_samples

    def _gains(self, side: Floats, total: Floats, counts: Ints) -> Any:
        gain = super()._gains(side, total, counts)
        rows_per_curvature = counts / total[1]
        if self.columns.missing.any():
            rest = np.rint((total[1] - side[1]) * rows_per_curvature)
        else:
            last = np.broadcast_to(total[1], (1, *side.shape[2:]))
            curvature = np.diff(np.concatenate([side[1], last]), axis=0)
            of_bin = np.floor(curvature * rows_per_curvature + 0.5)
            rest = np.cumsum(of_bin[::-1], axis=0)[::-1]
        few = rest < self.min_child_samples
        few |= counts - rest < self.min_child_samples
        gain[few] = -np.inf
        return gain


# Gradient-based one-side sampling


def goss(
    slopes: Floats, top_rate: float, other_rate: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return which rows to keep, ascending, and the weight of each.

    The share ``top_rate`` with the largest slopes is kept. Of the others a share of all
    rows, ``other_rate``, is drawn, and each weighs (1 - top_rate) / other_rate, which
    keeps the expectation of every sum. ``slopes`` has shape (n,), the absolute slopes.

    Source: Algorithm 2 of Ke et al. (2017).
    """
    n = len(slopes)
    n_top, n_other = int(top_rate * n), int(other_rate * n)
    order = np.argsort(-slopes, kind="stable")
    others = rng.choice(order[n_top:], min(n_other, n - n_top), replace=False)
    rows = np.concatenate([order[:n_top], others])
    weight = np.ones(len(rows))
    if len(others):
        weight[n_top:] = (n - n_top) / len(others)
    ascending = np.argsort(rows)
    return rows[ascending], weight[ascending]


# Exclusive feature bundling


def bundle_features(
    nonzero: NDArray[np.bool_], max_conflicts: int = 0
) -> list[list[int]]:
    """Return groups of features that are seldom non-zero in the same row.

    ``nonzero`` is (n, d). Features are taken by falling number of non-zero rows; each
    joins the first group in which the rows of all conflicts stay at most
    ``max_conflicts``, or opens a new one: the budget is one for each bundle.

    Source: Algorithm 3 of Ke et al. (2017).
    """
    order = np.argsort(-nonzero.sum(axis=0), kind="stable")
    bundles: list[list[int]] = []
    occupied: list[NDArray[np.bool_]] = []
    conflicts: list[int] = []
    for f in order:
        mine = nonzero[:, f]
        for k, taken in enumerate(occupied):
            extra = int(np.count_nonzero(taken & mine))
            if conflicts[k] + extra <= max_conflicts:
                bundles[k].append(int(f))
                taken |= mine
                conflicts[k] += extra
                break
        else:
            bundles.append([int(f)])
            occupied.append(mine.copy())
            conflicts.append(0)
    return bundles


class BundledColumns(BinnedColumns):
    """Binned features of which those that exclude each other share one column of codes.

    In a bundle, code 0 says that every feature has its default bin, the one of the value
    0; the other bins of each feature follow, those of the first feature, then those of
    the second, ... Where features conflict the last one of the bundle is kept.

    Attributes
    ----------
    bundles : list of lists of features
    bundle_code : ndarray of shape (bundles, n)
    default : ndarray of shape (d,), the bin of the value 0
    place : ndarray of shape (bins, d), where each bin of a feature is found in its bundle;
        -1 for the default bin and for bins that a feature does not have
    bundle_of : ndarray of shape (d,)
    """

    def __init__(
        self, X: Floats, edges: list[Floats], max_conflict_rate: float = 0.0
    ) -> None:
        super().__init__(X, edges)
        n, d = X.shape
        self.default = np.array([np.searchsorted(cuts, 0.0) for cuts in self.edges])
        nonzero = self.by_row != self.default
        self.bundles = bundle_features(nonzero, int(max_conflict_rate * n))
        bins = self.n_bins + bool(self.missing.any())
        self.place = np.full((bins, d), -1, dtype=np.intp)
        self.bundle_of = np.empty(d, dtype=np.intp)
        width = 1
        self.bundle_code = np.zeros((len(self.bundles), n), dtype=np.intp)
        for k, features in enumerate(self.bundles):
            offset = 1
            for f in features:
                self.bundle_of[f] = k
                own = np.arange(len(self.edges[f]) + 1)
                own = own[own != self.default[f]]
                if self.missing[f]:
                    own = np.append(own, self.n_bins)
                self.place[own, f] = offset + np.arange(len(own))
                offset += len(own)
                filled = nonzero[:, f]
                self.bundle_code[k, filled] = self.place[self.code[f, filled], f]
            width = max(width, offset)
        self.bundle_bins = width
        self.bundle_code = self.bundle_code.astype(np.min_scalar_type(width))


class BundledSplits(LeafWiseSplits):
    """Leaf-wise splits whose histograms are collected for bundles, not features."""

    columns: BundledColumns

    def _collect(
        self, codes: NDArray[Any], rows: Ints, node: Ints, m: int, bins: int
    ) -> Floats:
        columns = self.columns
        of_bundle = super()._collect(
            columns.bundle_code, rows, node, m, columns.bundle_bins
        )
        place = np.maximum(columns.place, 0)
        sums = of_bundle.transpose(0, 2, 1, 3)[place, columns.bundle_of]
        sums[columns.place < 0] = 0.0
        sums = np.ascontiguousarray(sums.transpose(0, 2, 1, 3))
        # what lies in no other bin of a feature lies in its default bin
        rest = of_bundle[:, :, 0].sum(axis=0)[:, np.newaxis] - sums.sum(axis=0)
        features = np.arange(len(codes))
        sums[columns.default, :, features] = rest.transpose(1, 0, 2)
        return sums


# Estimators


class _LGBM(Estimator):
    """Boosting rounds, which the regressor and the classifier share."""

    _allow_nan = True

    def __init__(
        self,
        num_leaves: int,
        max_depth: int,
        learning_rate: float,
        n_estimators: int,
        min_child_samples: int,
        min_child_weight: float,
        min_split_gain: float,
        reg_lambda: float,
        max_bin: int,
        data_sample_strategy: str,
        top_rate: float,
        other_rate: float,
        enable_bundle: bool,
        max_conflict_rate: float,
        random_state: Any,
    ) -> None:
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.data_sample_strategy = data_sample_strategy
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.enable_bundle = enable_bundle
        self.max_conflict_rate = max_conflict_rate
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("num_leaves", self.num_leaves, low=2)
        check_integer("max_depth", self.max_depth, low=-1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_integer("n_estimators", self.n_estimators, low=1)
        check_integer("min_child_samples", self.min_child_samples, low=1)
        check_number("min_child_weight", self.min_child_weight, low=0)
        check_number("min_split_gain", self.min_split_gain, low=0)
        check_number("reg_lambda", self.reg_lambda, low=0)
        check_integer("max_bin", self.max_bin, low=2, high=65_534)
        check_choice("data_sample_strategy", self.data_sample_strategy,
                     ("bagging", "goss"))
        check_number("top_rate", self.top_rate, low=0, below=1)
        check_number("other_rate", self.other_rate, above=0, below=1)
        check_number("max_conflict_rate", self.max_conflict_rate, low=0, below=1)
        if self.top_rate + self.other_rate > 1:
            raise ValueError(
                "top_rate + other_rate must be at most 1, got "
                f"{self.top_rate} + {self.other_rate}."
            )

    def _boost(self, X: Floats, start: Floats, slopes: Any, weight: Floats) -> None:
        """Add ``n_estimators`` rounds; ``slopes(F)`` gives g and h, both (n, k)."""
        rng = random_generator(self.random_state)
        edges = bin_edges(X, self.max_bin)
        if self.enable_bundle:
            columns: BinnedColumns = BundledColumns(X, edges, self.max_conflict_rate)
        else:
            columns = BinnedColumns(X, edges)
        F = np.tile(start, (len(X), 1))
        trees: list[list[tuple[Tree, Floats]]] = []
        for t in range(self.n_estimators):
            g, h = (part * weight[:, np.newaxis] for part in slopes(F))
            rows, factor = self._sample(np.abs(g * h).sum(axis=1), t, rng)
            grown = []
            for k in range(F.shape[1]):
                stats = np.stack([g[:, k], h[:, k]]).astype(np.float32).astype(float)
                if rows is not None:
                    stats[:, rows] *= factor
                tree, leaf, values = self._fit_tree(columns, stats, rows)
                if rows is not None:
                    leaf = tree.apply(X)
                F[:, k] += values[leaf]
                grown.append((tree, values))
            trees.append(grown)
        self.start_, self.trees_, self.columns_ = start, trees, columns
        self.n_iter_ = len(trees)

    def _sample(
        self, size: Floats, t: int, rng: np.random.Generator
    ) -> tuple[Ints | None, Any]:
        """Return the rows of round t and their factors; None: all rows.

        As in the library, the first 1 / learning_rate rounds see every row: until then
        the slopes say little about which rows are well fitted.
        """
        if self.data_sample_strategy == "bagging" or t < int(1 / self.learning_rate):
            return None, 1.0
        return goss(size, self.top_rate, self.other_rate, rng)

    def _fit_tree(
        self, columns: BinnedColumns, stats: Floats, rows: Ints | None
    ) -> tuple[Tree, Ints, Floats]:
        """Return a tree, the leaf of every row it was grown on, and its values."""
        criterion = Newton(self.reg_lambda, self.min_child_weight)
        splits = BundledSplits if self.enable_bundle else LeafWiseSplits
        finder = splits(columns, stats, criterion, self.min_child_samples, rows=rows)
        tree, leaf = grow(
            finder, None if self.max_depth < 0 else self.max_depth, self.num_leaves,
            self.min_split_gain,
        )
        return tree, leaf, self.learning_rate * criterion.leaf_value(tree.sums)

    def _scores(self, X: ArrayLike) -> Floats:
        X = self._check_new_data(X)
        F = np.tile(self.start_, (len(X), 1))
        for grown in self.trees_:
            for k, (tree, values) in enumerate(grown):
                F[:, k] += values[tree.apply(X)]
        return F


class LGBMRegressor(Regressor, _LGBM):
    """Boosted leaf-wise regression trees for the squared error.

    Parameters
    ----------
    num_leaves : int >= 2, leaves of each tree
    max_depth : int, the deepest level; -1: no limit
    learning_rate : float > 0
    n_estimators : int >= 1, rounds
    min_child_samples : int >= 1, rows of a child, estimated from the curvature
    min_child_weight : float >= 0, curvature H of a child
    min_split_gain : float >= 0, what a split must gain, in the library's scale
        (G^2 / (H + lambda) without 1/2)
    reg_lambda : float >= 0, penalty on the squared leaf values
    max_bin : int, bins of each feature
    data_sample_strategy : "bagging" (every row) or "goss"
    top_rate, other_rate : floats in [0, 1), a and b of GOSS
    enable_bundle : bool, bundle features that exclude each other
    max_conflict_rate : float in [0, 1), rows of a bundle that may conflict, as a share
    random_state : None, int or Generator, for GOSS

    Attributes
    ----------
    start_ : ndarray of shape (1,)
    trees_ : list of rounds, each a list of (tree, values of its nodes)
    columns_ : BinnedColumns or BundledColumns
    """

    def __init__(
        self,
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        enable_bundle: bool = True,
        max_conflict_rate: float = 0.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            num_leaves, max_depth, learning_rate, n_estimators, min_child_samples,
            min_child_weight, min_split_gain, reg_lambda, max_bin, data_sample_strategy,
            top_rate, other_rate, enable_bundle, max_conflict_rate, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LGBMRegressor:
        """Fit to X of shape (n, d), NaN where missing, and y of shape (n,)."""
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        start = np.array([np.average(y, weights=weight)])
        ones = np.ones((len(y), 1))
        self._boost(X, start, lambda F: (F - y[:, np.newaxis], ones), weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the prediction for each row, shape (m,), in units of y."""
        return self._scores(X)[:, 0]


class LGBMClassifier(Classifier, _LGBM):
    """Boosted leaf-wise trees for class probabilities.

    Parameters as those of ``LGBMRegressor``. With K > 2 classes each round grows K trees
    on the slopes of the softmax, with the library's curvature K / (K - 1) p (1 - p).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    start_ : ndarray of shape (1,) for two classes, else (K,)
    trees_, columns_ : as in ``LGBMRegressor``
    """

    def __init__(
        self,
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        data_sample_strategy: str = "bagging",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        enable_bundle: bool = True,
        max_conflict_rate: float = 0.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            num_leaves, max_depth, learning_rate, n_estimators, min_child_samples,
            min_child_weight, min_split_gain, reg_lambda, max_bin, data_sample_strategy,
            top_rate, other_rate, enable_bundle, max_conflict_rate, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LGBMClassifier:
        """Fit to X of shape (n, d), NaN where missing, and labels y of shape (n,)."""
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y contains 1 class, {self.classes_[0]!r}: boosting needs at least two."
            )
        prior = np.bincount(y, weight) / weight.sum()
        if n_classes == 2:
            target = y[:, np.newaxis].astype(float)
            start = np.log(prior[1:] / prior[0])

            def slopes(F: Floats) -> tuple[Floats, Floats]:
                p = np.exp(-np.logaddexp(0, -F))
                return p - target, p * (1 - p)
        else:
            target = (y[:, np.newaxis] == np.arange(n_classes)).astype(float)
            start, factor = np.log(prior), n_classes / (n_classes - 1)

            def slopes(F: Floats) -> tuple[Floats, Floats]:
                p = _softmax(F)
                return p - target, factor * p * (1 - p)

        self._boost(X, start, slopes, weight)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores: (m,) for two classes, (m, K) for more, in log odds."""
        F = self._scores(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class probabilities, shape (m, K)."""
        F = self._scores(X)
        if F.shape[1] == 1:
            p = np.exp(-np.logaddexp(0, -F[:, 0]))
            return np.column_stack([1 - p, p])
        return _softmax(F)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest probability, shape (m,)."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]


def _softmax(F: Floats) -> Floats:
    powers = np.exp(F - F.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
