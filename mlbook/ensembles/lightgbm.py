"""LightGBM: leaf-wise trees on histograms, sampled by gradient, with bundled features.

The boosted model and the leaf's value are those of the second-order derivation:

    w = -G / (H + lambda),
    gain = G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda),

with the sums G of slopes and H of curvatures over a leaf. What is new is how a tree is
grown: the open leaf of largest gain is split first; rows with small slopes may be
sampled (GOSS); and features that are never non-zero together share one histogram (EFB).

Slopes and curvatures are rounded to float32 as in the lightgbm library. Where nothing
is sampled, no value is missing, no features conflict and every distinct value has a
bin, the trees are the library's but for these differences:

- Below a node where no cut of a feature was allowed and gained more than
  ``min_split_gain``, the library does not try this feature again, although it may gain
  there; here every feature is tried. Where ``reg_lambda`` or ``min_split_gain`` is
  above 0, sooner or later a tree differs by this. Where both are 0 it happens too, if
  every cut of a feature was forbidden or gained 0: with few rows, or small leaves.
- A gain below 1e-10 of the score is rounding and counts as none here. The library may
  split a leaf on it, which moves scores by some 1e-9.
- The library takes values nearer to 0 than 1e-35 as 0; here they are what they are.
  And beside the value 0 it cuts at 1e-35, not half way: new rows between differ.
- Where no row of a node lies between two cuts, they gain the same, and rounding may
  choose either: it matters for new rows only.

With missing values the estimated numbers of rows round otherwise, and GOSS draws other
rows.

Sources: Ke, Meng, Finley, Wang, Chen, Ma, Ye and Liu (2017); version 4.7 of the
lightgbm library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Newton
from mlbook.ensembles.histogram import (
    BinnedColumns,
    BinnedNodes,
    HistogramSplits,
    bin_edges,
)
from mlbook.ensembles.tree import Ints, Splits, Tree, grow
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    check_bool,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

Slopes = Callable[[Floats], tuple[Floats, Floats]]

LARGEST = float(np.finfo(np.float32).max)  # of slopes, weights and scores: 3.4e38

# The derivatives of the losses by the score


def logistic_slopes(F: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """Return g = p - y and h = p (1 - p) of the log-loss, p = 1 / (1 + exp(-F)).

    F and the targets y have one shape. With q = 1 - p, g is p (1 - y) - q y: for y = 0
    and y = 1 nothing cancels where p is near 1. That y is 0 or 1 is not checked.
    """
    F, y = _of_one_shape(F, target)
    p, q = _both_sides(F)
    return p * (1 - y) - q * y, p * q


def softmax_slopes(F: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """Return g = p - y and h = K / (K - 1) p (1 - p), as in the library, both (n, K).

    The factor makes h for K = 2 what it must be for the difference of two scores that
    move apart alike: twice p (1 - p). As above, 1 - p is not a difference: it is the
    sum of the other classes' probabilities. The rows of y hold one 1, which is not
    checked.
    """
    F, y = _of_one_shape(F, target)
    if F.ndim != 2 or F.shape[1] < 2:
        raise ValueError(f"F must be (n, K) with K >= 2 classes, got {F.shape}.")
    n_classes = F.shape[1]
    p = softmax(F)
    q = p @ (1 - np.eye(n_classes))
    return p * (1 - y) - q * y, n_classes / (n_classes - 1) * p * q


def softmax(F: ArrayLike) -> Floats:
    """Return exp(F_k) / sum_l exp(F_l) along the last axis, without overflow."""
    F = as_float(F, "F")
    if not (F.ndim and F.shape[-1]):
        raise ValueError(f"F must hold a score for each class, got shape {F.shape}.")
    with np.errstate(over="ignore"):  # a difference beyond 1.8e308: its power is 0
        powers = np.exp(F - F.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _both_sides(F: Floats) -> tuple[Floats, Floats]:
    """Return p = 1 / (1 + exp(-F)) and 1 - p, each to its last digit."""
    return np.exp(-np.logaddexp(0, -F)), np.exp(-np.logaddexp(0, F))


def _of_one_shape(F: ArrayLike, target: ArrayLike) -> tuple[Floats, Floats]:
    """Return both as finite floats; ValueError where their shapes differ."""
    F, target = as_float(F, "F"), as_float(target, "target")
    if F.shape != target.shape:
        raise ValueError(
            f"F and target must have one shape, got {F.shape} and {target.shape}."
        )
    return F, target


def _as_single(stats: Floats) -> Floats:
    """Return ``stats`` rounded to float32, as float64."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = stats.astype(np.float32).astype(float)
    if not np.isfinite(rounded).all():
        raise ValueError(
            "a slope exceeds 3.4e38, the largest number in float32: scale y, or lower "
            "the learning rate or sample_weight."
        )
    return rounded


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
        rows_per_curvature = counts / np.where(total[1] > 0, total[1], np.inf)
        summed = total[1] - side[1]  # the right side is summed up bin by bin
        falling = summed[0].sum() > summed[-1].sum()
        running = summed[::-1] if falling else summed
        of_bin = np.diff(running, axis=0, prepend=0.0) * rows_per_curvature
        rows = np.cumsum(np.floor(of_bin + 0.5), axis=0)
        if falling:
            rows = rows[::-1]
        few = rows < self.min_child_samples
        few |= counts - rows < self.min_child_samples
        gain[few] = -np.inf
        return gain


# Gradient-based one-side sampling


def goss(
    size: ArrayLike, top_rate: float, other_rate: float, rng: Any
) -> tuple[Ints, Floats]:
    """Return which rows to keep, ascending, and the weight of each.

    The int(a n) rows of largest size are kept. Of the others int(b n), but at least
    one, are drawn without replacement, and each stands for (others) / (drawn) rows,
    which is (1 - a) / b where a n and b n are whole numbers. So the weights add up to
    n, and the expectation of every weighted sum is the sum over all rows.

    Parameters
    ----------
    size : array of shape (n,), at least 0: |g|, or |g h| as in ``fit``
    top_rate, other_rate : floats a in [0, 1) and b in (0, 1) with a + b <= 1
    rng : Generator, which moves on; or None or an int, as a random_state

    Raises
    ------
    ValueError
        If a size is negative, infinite or NaN, or a rate is out of its range.

    Source: Algorithm 2 of Ke et al. (2017).
    """
    size = _check_sizes(size)
    _check_rates(top_rate, other_rate)
    n = len(size)
    n_top = int(top_rate * n)
    order = np.argsort(-size, kind="stable")
    others = order[n_top:]
    n_drawn = max(int(other_rate * n), 1)
    drawn = random_generator(rng).choice(others, n_drawn, replace=False)
    rows = np.concatenate([order[:n_top], drawn])
    weight = np.repeat([1.0, len(others) / len(drawn)], [n_top, len(drawn)])
    ascending = np.argsort(rows)
    return rows[ascending], weight[ascending]


def _check_sizes(size: ArrayLike) -> Floats:
    """Return the sizes of the slopes as floats, or raise ValueError."""
    size = as_float(size, "size")
    if size.ndim != 1 or not len(size):
        raise ValueError(f"size must be (n,) with n >= 1, got shape {size.shape}.")
    if (size < 0).any():
        raise ValueError("size must be >= 0: pass |g|, not g.")
    return size


def _check_rates(top_rate: float, other_rate: float) -> None:
    check_number("top_rate", top_rate, low=0, below=1)
    check_number("other_rate", other_rate, above=0, below=1)
    if top_rate + other_rate > 1:
        raise ValueError(
            f"top_rate + other_rate must be at most 1, got {top_rate} + {other_rate}."
        )


# Exclusive feature bundling


def bundle_features(nonzero: ArrayLike, max_conflicts: int = 0) -> list[list[int]]:
    """Return groups of features that are seldom non-zero in the same row.

    ``nonzero`` is (n, d), true where a feature is not 0. Features are taken by falling
    number of non-zero rows; each joins the first group in which the rows of all
    conflicts stay at most ``max_conflicts``, or opens a new one: the budget is one for
    each bundle.

    Source: Algorithm 3 of Ke et al. (2017).
    """
    nonzero = as_matrix(nonzero) != 0
    check_integer("max_conflicts", max_conflicts, low=0)
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

    In a bundle, code 0 says that every feature has its default bin, the one of the
    value 0; the other bins of the first feature follow, then those of the second, ...
    Where features conflict, the bundle keeps the last one: in the histograms of the
    others this row is in the default bin, but it is still sent where its values say
    (the library sends the rows of the fit by the bundle's code).

    Parameters
    ----------
    X, edges : as in ``BinnedColumns``
    max_conflict_rate : float in [0, 1), the budget of a bundle as a share of the rows

    Attributes
    ----------
    bundles : list of lists of features
    bundle_code : ndarray of shape (bundles, n)
    bundle_bins : int, the codes of the bundle that has most
    default : ndarray of shape (d,), the bin of the value 0
    place : ndarray of shape (bins, d), the code of a feature's bin in its bundle; 0 for
        the default bin and for bins that a feature does not have
    bundle_of : ndarray of shape (d,)
    conflicts : int, values that the codes do not tell
    """

    def __init__(
        self, X: Floats, edges: list[Floats], max_conflict_rate: float = 0.0
    ) -> None:
        check_number("max_conflict_rate", max_conflict_rate, low=0, below=1)
        super().__init__(X, edges)
        n, d = X.shape
        self.default = np.array([np.searchsorted(cuts, 0.0) for cuts in self.edges])
        nonzero = self.by_row != self.default
        self.bundles = bundle_features(nonzero, int(max_conflict_rate * n))
        bins = self.n_bins + bool(self.missing.any())
        self.place = np.zeros((bins, d), dtype=np.intp)
        self.bundle_of = np.empty(d, dtype=np.intp)
        for k, features in enumerate(self.bundles):
            self.bundle_of[features] = k
            offset = 1
            for f in features:
                own = self._other_bins(f)
                self.place[own, f] = offset + np.arange(len(own))
                offset += len(own)
        self.bundle_bins = int(self.place.max()) + 1
        kind = np.min_scalar_type(self.bundle_bins)
        self.bundle_code = np.zeros((len(self.bundles), n), dtype=kind)
        for k, features in enumerate(self.bundles):
            for f in features:
                filled = nonzero[:, f]
                self.bundle_code[k, filled] = self.place[self.code[f, filled], f]
        told = np.count_nonzero(self.bundle_code)
        self.conflicts = int(np.count_nonzero(nonzero)) - told

    def _other_bins(self, f: int) -> Ints:
        """Return the bins of feature f without its default bin, that of NaN last."""
        own = np.delete(np.arange(len(self.edges[f]) + 1), self.default[f])
        return np.append(own, self.n_bins) if self.missing[f] else own


class BundledSplits(LeafWiseSplits):
    """Leaf-wise splits whose histograms are collected for bundles, not features.

    Where features conflict, a histogram does not say how a cut divides the rows. Then
    the cut that it proposes is divided and priced again, and another feature is asked
    if a child has too few rows (counted, not estimated) or nothing is gained.
    """

    columns: BundledColumns

    def best(self, frontier: BinnedNodes) -> Splits:
        """Return the best split of every node."""
        if not self.columns.conflicts:
            return super().best(frontier)
        found = [self._best_confirmed(self.select(frontier, k))
                 for k in range(len(frontier.counts))]
        gain, feature, threshold, missing_left, position = (
            np.concatenate([getattr(split, name) for split in found])
            for name in ("gain", "feature", "threshold", "missing_left", "position")
        )
        return Splits(gain, feature, threshold, missing_left, None, position)

    def _best_confirmed(self, node: BinnedNodes) -> Splits:
        """Return the first proposal for this node that its rows confirm."""
        given = self.features
        d = len(self.columns.code)
        self.features = np.ones(d, dtype=bool) if given is None else given.copy()
        split = super().best(node)
        while split.gain[0] > -np.inf:
            split.gain[0] = self._gain_of_rows(node, split)
            if split.gain[0] > -np.inf:
                break
            self.features[split.feature[0]] = False
            split = super().best(node)
        self.features = given
        return split

    def _gain_of_rows(self, node: BinnedNodes, split: Splits) -> float:
        """Return what the split of this node gains, -inf if it must not be made."""
        left = self._send(node.rows, node.node, split)
        n_left = np.count_nonzero(left)
        if min(n_left, len(left) - n_left) < self.min_child_samples:
            return -np.inf
        side = self.stats[:, node.rows[left]].sum(axis=1)[:, np.newaxis]
        parts = HistogramSplits._gains(self, side, node.sums, node.counts)[0]
        gain = parts - self.criterion.score(node.sums)[0]
        return float(gain) if gain > 1e-10 * parts else -np.inf

    def _collect(
        self, codes: NDArray[Any], rows: Ints, node: Ints, m: int, bins: int
    ) -> Floats:
        columns = self.columns
        of_bundle = super()._collect(
            columns.bundle_code, rows, node, m, columns.bundle_bins
        )
        sums = of_bundle.transpose(0, 2, 1, 3)[columns.place, columns.bundle_of]
        sums[columns.place == 0] = 0.0
        sums = np.ascontiguousarray(sums.transpose(0, 2, 1, 3))
        # what lies in no other bin of a feature lies in its default bin
        total = of_bundle[:, :, :1].sum(axis=0)
        features = np.arange(len(codes))
        sums[columns.default, :, features] = (total - sums.sum(axis=0)).swapaxes(0, 1)
        return sums


# Estimators


def _check_scores(F: Floats, advice: str) -> None:
    """Raise ValueError where a score is NaN or so large that later sums overflow."""
    if not (np.abs(F) <= LARGEST).all():
        raise ValueError(f"a score exceeds 3.4e38: {advice}.")


def _check_weight(weight: Floats) -> None:
    if weight.max() > LARGEST:
        raise ValueError(
            "sample_weight exceeds 3.4e38, the largest number in float32: divide all "
            "weights by one number."
        )


class _LGBM(Estimator):
    """Boosting rounds, which the regressor and the classifier share."""

    _allow_nan = True
    _advice: str  # what helps where scores grow too large

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
        if check_integer("max_depth", self.max_depth, low=-1) == 0:
            raise ValueError("max_depth must be >= 1, or -1 for no limit, got 0.")
        check_number("learning_rate", self.learning_rate, above=0)
        check_integer("n_estimators", self.n_estimators, low=1)
        check_integer("min_child_samples", self.min_child_samples, low=1)
        check_number("min_child_weight", self.min_child_weight, low=0)
        check_number("min_split_gain", self.min_split_gain, low=0)
        check_number("reg_lambda", self.reg_lambda, low=0)
        check_integer("max_bin", self.max_bin, low=2, high=65_534)
        check_choice("data_sample_strategy", self.data_sample_strategy,
                     ("bagging", "goss"))
        _check_rates(self.top_rate, self.other_rate)
        check_bool("enable_bundle", self.enable_bundle)
        check_number("max_conflict_rate", self.max_conflict_rate, low=0, below=1)

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is refused
    def _boost(self, X: Floats, start: Floats, slopes: Slopes, weight: Floats) -> None:
        """Add ``n_estimators`` rounds; ``slopes(F)`` gives g and h, both (n, k)."""
        rng = random_generator(self.random_state)
        columns = self._columns(X)
        F = np.tile(start, (len(X), 1))
        self.trees_ = []
        for t in range(self.n_estimators):
            g, h = (_as_single(part * weight[:, np.newaxis]) for part in slopes(F))
            rows, factor = self._sample(np.abs(g * h).sum(axis=1), t, rng)
            grown = []
            for k in range(F.shape[1]):
                stats = np.stack([g[:, k], h[:, k]])
                if rows is not None:
                    stats[:, rows] *= factor  # slopes and curvatures alike
                tree, leaf, values = self._fit_tree(columns, stats, rows)
                if rows is not None:
                    leaf = tree.apply(X)
                F[:, k] += values[leaf]
                grown.append((tree, values))
            self.trees_.append(grown)
            _check_scores(F, self._advice)
        self.start_, self.n_iter_ = start, len(self.trees_)

    def _columns(self, X: Floats) -> BinnedColumns:
        """Return the binned features, in bundles where some share one."""
        edges = bin_edges(X, self.max_bin)
        if self.enable_bundle:
            columns = BundledColumns(X, edges, self.max_conflict_rate)
            self.bundles_ = columns.bundles
            if len(columns.bundles) < X.shape[1]:
                return columns
        else:
            self.bundles_ = [[f] for f in range(X.shape[1])]
        return BinnedColumns(X, edges)

    def _sample(
        self, size: Floats, t: int, rng: np.random.Generator
    ) -> tuple[Ints | None, Any]:
        """Return the rows of round t and their factors; None: all rows.

        As in the library, the first 1 / learning_rate rounds see every row: until then
        the slopes say little about which rows are well fitted.
        """
        if self.data_sample_strategy == "bagging" or t + 1 <= 1 / self.learning_rate:
            return None, 1.0
        return goss(size, self.top_rate, self.other_rate, rng)

    def _fit_tree(
        self, columns: BinnedColumns, stats: Floats, rows: Ints | None
    ) -> tuple[Tree, Ints, Floats]:
        """Return a tree, the leaf of every row it was grown on, and its values."""
        criterion = Newton(self.reg_lambda, self.min_child_weight)
        bundled = isinstance(columns, BundledColumns)
        splits = BundledSplits if bundled else LeafWiseSplits
        least = min(self.min_child_samples, stats.shape[1] + 1)  # an int of any size
        finder = splits(columns, stats, criterion, least, rows=rows)
        tree, leaf = grow(
            finder, None if self.max_depth < 0 else self.max_depth, self.num_leaves,
            self.min_split_gain,
        )
        values = self.learning_rate * criterion.leaf_value(tree.sums)
        if tree.node_count == 1:
            values[:] = 0.0  # as in the library, a tree without a split adds nothing
        return tree, leaf, values

    def _staged_scores(self, X: ArrayLike) -> Iterator[Floats]:
        """Return the scores (m, k) before the first round and after each."""
        return self._stages(self._check_new_data(X))

    def _stages(self, X: Floats) -> Iterator[Floats]:
        F = np.tile(self.start_, (len(X), 1))
        yield F.copy()
        for grown in self.trees_:
            for k, (tree, values) in enumerate(grown):
                F[:, k] += values[tree.apply(X)]
            yield F.copy()

    def _scores(self, X: ArrayLike) -> Floats:
        *_, F = self._staged_scores(X)
        return F


class LGBMRegressor(Regressor, _LGBM):
    """Boosted leaf-wise regression trees for the squared error.

    Parameters
    ----------
    num_leaves : int >= 2, leaves of each tree
    max_depth : int >= 1, the deepest level; -1: no limit
    learning_rate : float > 0
    n_estimators : int >= 1, rounds
    min_child_samples : int >= 1, rows of a child, estimated from the curvature: a row
        of weight k is not k rows here
    min_child_weight : float >= 0, curvature H of a child, which sample_weight scales
    min_split_gain : float >= 0, what a split must gain, in the library's scale
        (gain as above, without the factor 1/2)
    reg_lambda : float >= 0, penalty on the squared leaf values
    max_bin : int, bins of each feature
    data_sample_strategy : "bagging" (every row) or "goss"
    top_rate, other_rate : floats in [0, 1) and (0, 1), a and b of GOSS, a + b <= 1
    enable_bundle : bool, bundle features that exclude each other
    max_conflict_rate : float in [0, 1), rows of a bundle that may conflict, as a share
    random_state : None, int or Generator, for GOSS

    Attributes
    ----------
    start_ : ndarray of shape (1,)
    trees_ : list of rounds, each a list of (tree, values of its nodes)
    bundles_ : list of lists of features, those that share one histogram
    n_iter_ : int, rounds

    Raises
    ------
    ValueError
        If y, a slope, a weight or a score exceeds what float32 holds, 3.4e38: y is too
        large, or the learning rate exceeds 2 and the rounds diverge. Slopes below 1e-38
        lose digits, and those below 1e-45 count as 0.
    """

    _advice = "scale y, or lower the learning rate"

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LGBMRegressor:
        """Fit to X of shape (n, d), NaN where missing, and y of shape (n,)."""
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        _check_weight(weight)
        if np.abs(y).max() > LARGEST:
            raise ValueError("y exceeds 3.4e38, the largest in float32: scale y.")
        start = np.array([np.average(y, weights=weight / weight.max())])
        ones = np.ones((len(y), 1))
        self._boost(X, start, lambda F: (F - y[:, np.newaxis], ones), weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the prediction for each row, shape (m,), in units of y."""
        return self._scores(X)[:, 0]

    def staged_predict(self, X: ArrayLike) -> Iterator[Floats]:
        """Return the predictions before the first round and after each, each (m,)."""
        return (F[:, 0] for F in self._staged_scores(X))


class LGBMClassifier(Classifier, _LGBM):
    """Boosted leaf-wise trees for class probabilities.

    Parameters as those of ``LGBMRegressor``. With K > 2 classes each round grows K
    trees on the slopes of the softmax, with the library's curvature
    K / (K - 1) p (1 - p).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    start_ : ndarray of shape (1,) for two classes, else (K,)
    trees_, bundles_, n_iter_ : as in ``LGBMRegressor``
    """

    _advice = "lower the learning rate, or raise min_child_weight or reg_lambda"

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LGBMClassifier:
        """Fit to X of shape (n, d), NaN where missing, and labels y of shape (n,)."""
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y contains 1 class, {self.classes_.tolist()[0]!r}: boosting needs at "
                "least two."
            )
        _check_weight(weight)
        log_prior = np.log(np.bincount(y, weight)) - np.log(weight.sum())
        if n_classes == 2:
            target = y[:, np.newaxis].astype(float)
            start = log_prior[1:] - log_prior[0]
            self._boost(X, start, lambda F: logistic_slopes(F, target), weight)
        else:
            target = (y[:, np.newaxis] == np.arange(n_classes)).astype(float)
            self._boost(X, log_prior, lambda F: softmax_slopes(F, target), weight)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the scores: (m,) for two classes, (m, K) for more, in log odds."""
        F = self._scores(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Floats]:
        """Return the probabilities before the first round and after each, (m, K)."""
        return map(self._probabilities, self._staged_scores(X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class probabilities, shape (m, K)."""
        return self._probabilities(self._scores(X))

    @staticmethod
    def _probabilities(F: Floats) -> Floats:
        if F.shape[1] == 1:
            p, q = _both_sides(F[:, 0])
            return np.column_stack([q, p])
        return softmax(F)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest probability, shape (m,)."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]
