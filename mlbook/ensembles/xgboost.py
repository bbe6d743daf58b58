"""Second-order tree boosting, tree by tree as the xgboost library does it.

With g_i and h_i, the first and second derivative of the loss of sample i at its present
margin, a tree that adds w_j to the margin of every sample in its leaf j changes the sum
of the losses and penalties, to second order, by

    sum_j [ G_j w_j + 1/2 (H_j + lambda) w_j^2 ] + gamma' T,

where G_j and H_j are the sums of g and h over leaf j and T counts the leaves. Hence

    w_j  = -G_j / (H_j + lambda),
    gain = G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda).

This ``gain`` and the parameter ``gamma`` are in the library's scale: both are twice
what the formula above gives, gamma = 2 gamma'.

Precision is the library's: features, targets, margins, slopes, scores and leaf values
are float32, and sums over samples are float64. Gains that are equal in float32 may
differ in float64, so the trees are the library's only if both round at the same places.
A margin then has some seven significant digits: a target near 1e8 should be shifted
before it is learnt. And a split must gain more than 1e-6, where gains go with the
square of the target and with the weights: targets far below 1e-3 should be scaled up,
weights scaled to mean 1, or few trees split.

Sources: Chen and Guestrin (2016); version 3.2 of the xgboost library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Newton
from mlbook.ensembles.histogram import BinnedColumns, HistogramSplits, bin_edges
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import Ints, Tree, grow
from mlbook.validation import (
    Floats,
    as_float,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

Reals = NDArray[np.floating[Any]]
Single = NDArray[np.float32]
Slopes = Callable[[Single], tuple[Single, Single]]

LEAST_GAIN = 1e-6  # a split must gain more, as in the library
LEAST_SHARE = 1e-6  # of a class, for the margins to start from, as in the library
LARGEST_SUM = 1.8e19  # of slopes, whose square must fit into float32
LEAST_CURVATURE = 1e-16
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
SOFTMAX_FACTOR = {"library": 2, "derived": 1}


# The derivatives of each loss by the margin: float32 for float32 margins, else float64.
# Margins and targets are finite; ValueError where they are not real numbers.


def squared_slopes(margin: ArrayLike, y: ArrayLike) -> tuple[Reals, Reals]:
    """Return g = m - y and h = 1 of the loss (m - y)^2 / 2, in the shape of both."""
    margin, y = _of_one_shape(margin, y)
    return margin - y, np.ones_like(margin)


def logistic_slopes(margin: ArrayLike, y: ArrayLike) -> tuple[Reals, Reals]:
    """Return g = p - y and h = p (1 - p) of the log-loss, p = sigmoid(m), y 0 or 1.

    All have one shape. h is kept at 1e-16 or above, as in the library.
    """
    margin, y = _of_one_shape(margin, y)
    p = sigmoid(margin)
    return p - y, np.maximum(p * (1 - p), margin.dtype.type(LEAST_CURVATURE))


def softmax_slopes(
    margin: ArrayLike, target: ArrayLike, factor: float = 1
) -> tuple[Reals, Reals]:
    """Return g = p - y and h = factor p (1 - p) of the log-loss of K classes.

    ``margin`` and ``target``, of shape (K, n), hold one row for each class; the target
    is 1 where a sample is of that class, else 0. The derivative is ``factor`` 1; with 2
    the sum of the K parabolas lies nowhere below the quadratic part of the loss.
    """
    check_number("factor", factor, above=0)
    margin, target = _of_one_shape(margin, target)
    p = softmax(margin)
    least = margin.dtype.type(LEAST_CURVATURE)
    return p - target, np.maximum(margin.dtype.type(factor) * p * (1 - p), least)


def sigmoid(margin: ArrayLike) -> Reals:
    """Return 1 / (1 + exp(-m)), without overflow."""
    margin = _reals(margin)
    largest = 88.7 if margin.dtype == np.float32 else 709.7  # exp of it is finite
    return 1 / (1 + _exp(np.minimum(-margin, margin.dtype.type(largest))))


def softmax(margin: ArrayLike) -> Reals:
    """Return exp(m_k) / sum_l exp(m_l) along axis 0, without overflow."""
    margin = _reals(margin)
    grown = _exp(margin - margin.max(axis=0))
    return grown / grown.sum(axis=0, dtype=np.float64).astype(margin.dtype)


def _reals(values: ArrayLike) -> Reals:
    """Return float32 values as they are and all others as float64."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"Margins and targets must be real, got {values.dtype}.")
    return values if values.dtype == np.float32 else values.astype(np.float64)


def _of_one_shape(margin: ArrayLike, target: ArrayLike) -> tuple[Reals, Reals]:
    """Return both in the margin's precision; ValueError unless of one shape."""
    margin, target = _reals(margin), _reals(target)
    if margin.shape != target.shape:
        raise ValueError(
            f"margin and target must have one shape, got {margin.shape} and "
            f"{target.shape}."
        )
    return margin, target.astype(margin.dtype)


def _exp(z: Reals) -> Reals:
    """Return exp(z) rounded once to z's precision, which NumPy's float32 exp is not."""
    return np.exp(z, dtype=np.float64).astype(z.dtype)


# One tree


class SingleNewton(Newton):
    """The second-order criterion, rounded to float32 where the library rounds it.

    The square and the denominator are rounded, then divided. Rounding only the quotient
    makes other cuts where two gains differ by less than float32 resolves of a score, as
    is common in a large node whose labels are nearly all of one kind.
    """

    def score(self, sums: Floats) -> Single:
        """Return G^2 / (H + lambda), 0 where H + lambda is 0, of an array (2, ...)."""
        slope, curvature = sums
        square = np.multiply(slope, slope).astype(np.float32)
        denominator = np.array(curvature + self.reg_lambda, dtype=np.float32)
        np.copyto(denominator, np.inf, where=denominator <= 0)  # it may round to 0
        return square / denominator


@dataclass
class ValuedTree:
    """A tree and what each of its nodes adds to the margin (0 at inner nodes)."""

    tree: Tree
    value: Single

    def __call__(self, X: Floats) -> Single:
        """Return what the tree adds to the margins of the rows of X, shape (m,)."""
        return self.value.take(self.tree.apply(X))


def leaf_values(tree: Tree, criterion: Newton, learning_rate: float) -> Single:
    """Return learning_rate * -G / (H + lambda) of every leaf, shape (nodes,).

    It is 0 where H + lambda = 0, and, as in the library, where H is below
    ``min_child_weight``: that is a root, since no smaller child is ever made.
    """
    weight = criterion.leaf_value(tree.sums)
    heavy = tree.sums[1] >= criterion.min_child_weight
    kept = tree.is_leaf & heavy
    return np.where(kept, weight, 0).astype(np.float32) * np.float32(learning_rate)


def prune(tree: Tree, gamma: float) -> tuple[Tree, Ints]:
    """Undo, from the bottom up, splits into two leaves that gain less than gamma.

    A weak split stays where a split below it is kept. Returns the tree and the new
    number of every old node, that of the leaf that has taken it up if it is gone.
    """
    leaf = tree.is_leaf.copy()
    weak = ~leaf & (tree.gain.astype(np.float32) < np.array(gamma, np.float32))
    for node in np.flatnonzero(weak)[::-1]:  # children have higher numbers
        leaf[node] = leaf[tree.left[node]] and leaf[tree.right[node]]
    return tree.collapse(leaf & ~tree.is_leaf)


def grow_exact(
    columns: Columns, stats: Floats, criterion: Newton, max_depth: int | None,
    gamma: float,
) -> tuple[Tree, Ints]:
    """Grow a tree on all cuts and prune it; return it and the leaf of every row.

    ``stats``, shape (2, n), holds g and h of the rows of ``columns``.
    """
    finder = ExactSplits(columns, stats, criterion, single=True)
    tree, leaf = grow(finder, max_depth, min_gain=LEAST_GAIN)
    # The library scans a feature without missing values from above, so that what is
    # left over at a cut, and with it a value that is missing later, is on the left.
    complete = ~columns.missing.take(tree.feature) & ~tree.is_leaf
    tree = replace(tree, missing_left=tree.missing_left | complete)
    if gamma == 0:
        return tree, leaf
    tree, number = prune(tree, gamma)
    return tree, number.take(leaf)


def grow_binned(
    columns: BinnedColumns, stats: Floats, criterion: Newton, max_depth: int | None,
    gamma: float, rows: Ints, features: Ints,
) -> tuple[Tree, Ints]:
    """Grow a tree on ``rows`` with cuts between bins of ``features``.

    Here the library makes no split that gains less than gamma, so that nothing is left
    to prune. The leaf of a row that is not in ``rows`` is -1.
    """
    usable = np.zeros(len(columns.code), dtype=bool)
    usable[features] = True
    finder = HistogramSplits(columns, stats, criterion, rows=rows, features=usable)
    # Gain and gamma are compared in float32, and a gain equal to gamma is enough: what
    # rounds to gamma lies above the middle between it and the float32 below.
    price = np.float32(gamma)
    middle = (float(price) + float(np.nextafter(price, np.float32(-np.inf)))) / 2
    if np.float32(middle) == price:  # a tie goes to the even one of the two
        middle = float(np.nextafter(middle, -np.inf))
    return grow(finder, max_depth, min_gain=max(LEAST_GAIN, middle))


@contextmanager
def overflow_refused() -> Iterator[None]:
    """Make an overflow of NumPy inside of it a ValueError, not a warning."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        check_range(np.array([np.inf]), np.inf)


class _Booster(Estimator):
    """Parameters, the loop over rounds and margins; what both estimators share."""

    _allow_nan = True

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        reg_lambda: float = 1.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        tree_method: str = "hist",
        max_bin: int = 256,
        base_score: float | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.tree_method = tree_method
        self.max_bin = max_bin
        self.base_score = base_score
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=0)
        check_integer("max_depth", self.max_depth, low=0)
        check_number(
            "learning_rate", self.learning_rate, above=0, high=LARGEST_FLOAT32
        )
        check_number("reg_lambda", self.reg_lambda, low=0, high=LARGEST_FLOAT32)
        check_number("gamma", self.gamma, low=0, high=LARGEST_FLOAT32)
        check_number("min_child_weight", self.min_child_weight, low=0)
        check_number("subsample", self.subsample, above=0, high=1)
        check_number("colsample_bytree", self.colsample_bytree, above=0, high=1)
        check_choice("tree_method", self.tree_method, ["exact", "hist"])
        check_integer("max_bin", self.max_bin, low=2, high=2**15)
        if self.base_score is not None:
            check_number("base_score", self.base_score, -LARGEST_FLOAT32,
                         high=LARGEST_FLOAT32)

    def _boost(
        self, X: Floats, weight: Floats, start: Reals, slopes: Slopes,
        edges: Sequence[ArrayLike] | None,
    ) -> None:
        """Run the rounds from the margins ``start``, shape (K,), and keep the trees.

        ``slopes`` maps the margins, (K, n), to g and h of that shape. All K trees of a
        round are grown on slopes at the same margins.
        """
        rng = random_generator(self.random_state)
        criterion = SingleNewton(self.reg_lambda, self.min_child_weight)
        columns = self._prepare(X, edges)
        self.base_margin_ = start.astype(np.float32)
        self.trees_: list[list[ValuedTree]] = []
        margin = np.repeat(self.base_margin_[:, np.newaxis], len(X), axis=1)
        for _ in range(self.n_estimators):
            g, h = slopes(margin)
            trees = []
            for k, stats in enumerate(np.stack([g, h], axis=1) * weight):
                check_range(np.abs(stats).sum(axis=1), LARGEST_SUM)
                tree, leaf = self._grow(X, columns, stats, criterion, rng)
                value = leaf_values(tree, criterion, self.learning_rate)
                trees.append(ValuedTree(tree, value))
                margin[k] += value.take(leaf)
            self.trees_.append(trees)
        check_range(np.abs(margin), np.inf)

    def _prepare(
        self, X: Floats, edges: Sequence[ArrayLike] | None
    ) -> Columns | BinnedColumns:
        """Return X as the finder of ``tree_method`` needs it, made once."""
        if self.tree_method == "hist":
            if edges is None:
                edges = bin_edges(X, self.max_bin, single=True)
            elif hasattr(edges, "__len__"):  # rounded as X is; else refused below
                edges = [as_single(as_float(e, "edges"), "edges") for e in edges]
            return BinnedColumns(X, edges)
        if edges is not None:
            raise ValueError("bin_edges can be given for tree_method='hist' only.")
        return Columns(X, presort=True, descending=True)

    def _grow(
        self, X: Floats, columns: Any, stats: Floats, criterion: Newton,
        rng: np.random.Generator,
    ) -> tuple[Tree, Ints]:
        """Return a tree grown on stats, (2, n), and the leaf of every row."""
        n, d = X.shape
        depth = self.max_depth or None  # 0 is no limit, as in the library
        rows = _draw(rng, n, self.subsample)
        features = _draw(rng, d, self.colsample_bytree)
        if self.tree_method == "hist":
            tree, leaf = grow_binned(
                columns, stats, criterion, depth, self.gamma, rows, features
            )
        else:
            if len(rows) < n or len(features) < d:
                part = X[np.ix_(rows, features)]
                columns = Columns(part, presort=True, descending=True)
            tree, leaf = grow_exact(
                columns, stats[:, rows], criterion, depth, self.gamma
            )
            used = np.where(tree.is_leaf, -1, features.take(tree.feature))
            tree = replace(tree, feature=used, categorical=np.zeros(d, dtype=bool))
        return tree, leaf if len(rows) == n else tree.apply(X)

    def _staged_margins(self, X: ArrayLike) -> Iterator[Single]:
        """Check X and return an iterator over the margins, (K, m), of all stages."""
        return self._stages(as_single(self._check_new_data(X)))

    def _stages(self, X: Floats) -> Iterator[Single]:
        """Yield the margins before the first round and after each.

        It is one array that changes from round to round: copy what is to be kept.
        """
        margin = np.repeat(self.base_margin_[:, np.newaxis], len(X), axis=1)
        yield margin
        for trees in self.trees_:
            for k, tree in enumerate(trees):
                margin[k] += tree(X)
            yield margin

    def _margins(self, X: ArrayLike) -> Single:
        """Return the margins after all rounds, (K, m)."""
        for margin in self._staged_margins(X):
            pass
        return margin


class XGBRegressor(_Booster, Regressor):
    """Boosting of trees for the squared error (m - y)^2 / 2.

    Parameters
    ----------
    n_estimators : int >= 0, the number of rounds
    max_depth : int >= 0, levels of splits in a tree; 0 for no limit
    learning_rate : float > 0, the share of a leaf's best value that is added
    reg_lambda : float >= 0, penalty lambda/2 on a squared leaf value, in units of H
    gamma : float >= 0
        What a split must gain, in the library's scale: twice the price of a leaf in the
        penalised loss. "hist" makes no split that gains less; "exact" grows first and
        then undoes such splits from the bottom up (``prune``).
    min_child_weight : float >= 0, the least H of a child
    subsample, colsample_bytree : float in (0, 1]
        Share of the rows, of the features, drawn for each tree without replacement.
    tree_method : "hist" (cuts between at most ``max_bin`` bins) or "exact" (all cuts)
    max_bin : int >= 2, bins of a feature for "hist"
    base_score : float, optional
        Prediction before the first round; by default the mean of y.
    random_state : None, int or Generator; used where a share is below 1

    A row of weight k counts as k rows in G and H, but as one in the borders of the
    bins. NaN is a missing value and goes to the side where it gained more in training;
    if its feature had none in training, to the left for "exact" and to the right for
    "hist". A cut that only parts what is present from what is missing lies at infinity;
    the library's lies at max + |max| of the values seen, and it sends new values beyond
    that the way of the missing ones.

    Attributes
    ----------
    trees_ : list over rounds of lists of one ValuedTree
    base_margin_ : ndarray of shape (1,), the prediction before the first round
    """

    @overflow_refused()
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        bin_edges: Sequence[ArrayLike] | None = None,
    ) -> XGBRegressor:
        """Fit to X of shape (n, d) and y of shape (n,); return self.

        ``bin_edges``, one ascending array for each feature, replaces the borders that
        "hist" finds itself: x <= edges[0] is in the first bin, both rounded to float32.
        Raises ValueError for bad parameters and for values beyond float32.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        X, y = as_single(X), as_single(y, "y").astype(np.float32)
        if self.base_score is None:
            start = np.average(y, weights=weight)
        else:
            start = self.base_score
        self._boost(X, weight, np.array([start]),
                    lambda margin: squared_slopes(margin, y[np.newaxis]), bin_edges)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the predictions for X, shape (m,)."""
        return self._margins(X)[0].astype(np.float64)

    def staged_predict(self, X: ArrayLike) -> Iterator[Floats]:
        """Return an iterator over predict(X) before the first round and after each."""
        return (m[0].astype(np.float64) for m in self._staged_margins(X))


class XGBClassifier(_Booster, Classifier):
    """Boosting of trees for the log-loss: logistic for two classes, softmax for more.

    Parameters
    ----------
    base_score : float, optional
        Before the first round. For two classes the probability of the second, by
        default its share in y, kept between 1e-6 and 1 - 1e-6; for more a margin for
        all classes, by default the logarithm of each share plus 1e-6, less the mean of
        these logarithms, as in the library.
    softmax_curvature : "library" or "derived"
        With more than two classes the h of class k: "derived" is p (1 - p), the second
        derivative by its margin; "library" twice that, as in the xgboost library (see
        ``softmax_slopes`` for what that is good for).

    The other parameters are those of ``XGBRegressor``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    trees_ : list over rounds of lists of ValuedTree: one for two classes, else K
    base_margin_ : ndarray of shape (1,) or (K,), the margins before the first round
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.3,
        reg_lambda: float = 1.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        tree_method: str = "hist",
        max_bin: int = 256,
        base_score: float | None = None,
        softmax_curvature: str = "library",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(
            n_estimators, max_depth, learning_rate, reg_lambda, gamma,
            min_child_weight, subsample, colsample_bytree, tree_method, max_bin,
            base_score, random_state,
        )
        self.softmax_curvature = softmax_curvature

    @overflow_refused()
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        bin_edges: Sequence[ArrayLike] | None = None,
    ) -> XGBClassifier:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        ``bin_edges``, one ascending array for each feature, replaces the borders that
        "hist" finds itself: x <= edges[0] is in the first bin, both rounded to float32.
        Raises ValueError for fewer than two classes, bad parameters and values beyond
        float32.
        """
        self._check_parameters()
        factor = SOFTMAX_FACTOR[
            check_choice("softmax_curvature", self.softmax_curvature, [*SOFTMAX_FACTOR])
        ]
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        K = len(self.classes_)
        if K < 2:
            raise ValueError(
                "XGBClassifier needs at least 2 classes, got one class: "
                f"{self.classes_[0]}."
            )
        X = as_single(X)
        share = np.bincount(codes, weight) / weight.sum()
        if K == 2:
            y = codes.astype(np.float32)[np.newaxis]
            slopes: Slopes = lambda margin: logistic_slopes(margin, y)
        else:
            target = (codes == np.arange(K)[:, np.newaxis]).astype(np.float32)
            slopes = lambda margin: softmax_slopes(margin, target, factor)
        self._boost(X, weight, self._start(share), slopes, bin_edges)
        return self

    def _start(self, share: Floats) -> Reals:
        """Return the margins before the first round from the classes' shares."""
        if len(share) == 2:
            first = share[1] if self.base_score is None else check_number(
                "base_score", self.base_score, above=0, below=1
            )
            # rounded, and kept from 0 and 1, where the library does it
            p = np.array([first], dtype=np.float32)
            p = np.clip(p, LEAST_SHARE, 1 - LEAST_SHARE)
            return -np.log(1 / p - 1)
        if self.base_score is None:
            logs = np.log(share + LEAST_SHARE)
            return logs - logs.mean()
        return np.full(len(share), self.base_score)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the margins: (m,), positive for ``classes_[1]``, or (m, K)."""
        return self._shaped(self._margins(X))

    def staged_decision_function(self, X: ArrayLike) -> Iterator[Floats]:
        """Return an iterator over decision_function(X), before round 1 and on."""
        return map(self._shaped, self._staged_margins(X))

    @staticmethod
    def _shaped(margin: Single) -> Floats:
        margin = margin.astype(np.float64)
        return margin[0] if len(margin) == 1 else margin.T

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, shape (m, K)."""
        margin = self._margins(X).astype(np.float64)
        if len(margin) == 1:
            return np.column_stack([sigmoid(-margin[0]), sigmoid(margin[0])])
        return softmax(margin).T

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest margin, shape (m,)."""
        margin = self._margins(X)
        best = margin.argmax(axis=0) if len(margin) > 1 else margin[0] > 0
        return self.classes_[best.astype(np.intp)]


def as_single(values: Floats, name: str = "X") -> Floats:
    """Return ``values`` rounded to float32, as float64; NaN stays.

    Raises ValueError where a value is beyond the range of float32.
    """
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.isinf(single).any():
        raise ValueError(
            f"Input {name} contains a value too large for float32: scale it to stay "
            "below 3.4e38."
        )
    return single.astype(np.float64)


def check_range(sizes: Reals, limit: float) -> None:
    """Raise ValueError unless all of ``sizes``, which are >= 0, are below ``limit``."""
    if not (sizes < limit).all():  # nor is NaN
        raise ValueError(
            "The margins or the sums of slopes leave the range of float32: scale y, or "
            "lower learning_rate, sample_weight or |base_score|."
        )


def _draw(rng: np.random.Generator, n: int, share: float) -> Ints:
    """Return floor(share n) of 0 .. n - 1, at least one, ascending; all for 1."""
    if share == 1:
        return np.arange(n)
    size = int(share * n + 1e-9)  # 0.29 * 100 is a little below 29
    return np.sort(rng.permutation(n)[: max(1, size)])
