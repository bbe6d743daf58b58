"""Random forests: many trees, each with random rows and features of its own.

Tree b of B is grown on a bootstrap sample, n rows drawn with replacement, and every node
of it looks for its split among a few columns only, drawn anew. The forest answers with
the mean of its trees: class shares for a classifier, numbers for a regressor. A row that
tree b did not draw is *out of bag* for it, and the mean over such trees alone is a
prediction of that row by a forest that has never seen it.

A bootstrap sample is stored as the number of times that each row was drawn, and these
counts are the weights of the rows while the tree grows. Many trees grow at once, level
by level. Where the trees differ from scikit-learn's: X stays float64 (there float32).

Sources: Breiman (2001); Hastie, Tibshirani and Friedman (2009), chapter 15.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Criterion, Entropy, Gini, SquaredError
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import Ints, Tree, grow
from mlbook.exceptions import warn
from mlbook.metrics import r_squared
from mlbook.scaling import largest_exponent
from mlbook.validation import (
    Floats,
    check_bool,
    as_float,
    as_matrix,
    as_vector,
    check_choice,
    check_integer,
    check_labels,
    check_number,
    check_sample_weight,
    positive_rows,
    random_generator,
)

SUMS_AT_ONCE = 50_000  # of all trees that grow together: their arrays stay in the cache
PLACES_AT_ONCE = 500_000  # new rows times the trees that they go through together
FEATURES_IN_A_PROJECTION = 3  # Breiman's L
SMALLEST = 1e-70  # what is squared must not be all below it, nor beyond its inverse


@dataclass(frozen=True)
class ForestTree:
    """One tree of a forest; trees that grew together share their arrays.

    It asks for the columns that it was grown on: after ``n_projections`` those that
    ``with_projections`` of the forest returns.

    Attributes
    ----------
    tree : Tree
    root : int, the tree's own root in ``tree``
    value : ndarray of shape (nodes, K), what a row that ends in a node is told; K = 1
        for a regression
    """

    tree: Tree
    root: int
    value: Floats

    def predict(self, X: Floats) -> Floats:
        """Return the value of each row's leaf, shape (n, K)."""
        return next(tree_predictions([self], X))


def tree_predictions(
    trees: Sequence[ForestTree], X: Floats, rows: Sequence[Ints] | None = None
) -> Iterator[Floats]:
    """Yield what each tree says about its rows of X, shape (rows, K).

    ``rows`` holds for each tree the numbers of its rows; None: every tree all rows.

    Raises ValueError if X is not finite or has other columns than the trees grew on,
    or if there are not as many ``rows`` as trees, or they are no row numbers of X.
    """
    X = np.ascontiguousarray(as_float(X))
    for n_columns in {len(member.tree.categorical) for member in trees}:
        if X.ndim != 2 or X.shape[1] != n_columns:
            raise ValueError(
                f"The trees ask for {n_columns} columns (features, and combinations "
                f"if any: see with_projections), got X of shape {X.shape}.")
    if rows is None:
        rows = [np.arange(len(X))] * len(trees)
    else:
        rows = [row_numbers(row, len(X)) for row in rows]
    if len(rows) != len(trees):
        raise ValueError(f"There are {len(trees)} trees, but rows of {len(rows)}.")
    pairs = zip(trees, rows, strict=True)
    for _, group in itertools.groupby(pairs, key=lambda pair: id(pair[0].tree)):
        members, theirs = zip(*group, strict=True)
        sizes = [len(row) for row in theirs]
        start = np.repeat([member.root for member in members], sizes)
        leaf = leaves(members[0].tree, X, np.concatenate(theirs), start)
        yield from np.split(members[0].value[leaf], np.cumsum(sizes)[:-1])


def row_numbers(rows: ArrayLike, n: int) -> Ints:
    """Return rows as a vector of whole numbers, or raise unless all are in 0..n-1."""
    rows = np.asarray(rows)
    if rows.size == 0:
        rows = rows.astype(np.intp)  # an empty list has become one of floats
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            "A tree's rows must be a vector of whole numbers (np.flatnonzero turns a "
            f"mask into them), got {rows.dtype} of shape {rows.shape}.")
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise ValueError(f"A tree's row numbers must be in 0..{n - 1}.")
    return rows.astype(np.intp, copy=False)


def leaves(tree: Tree, X: Floats, rows: Ints, nodes: Ints) -> Ints:
    """Return the leaf that X[rows] reach from ``nodes``, each from its own."""
    leaf = nodes.copy()
    place = np.arange(len(rows))
    while True:
        inside = tree.feature.take(nodes) >= 0
        place, rows, nodes = place[inside], rows[inside], nodes[inside]
        if not len(place):
            return leaf
        left = tree.goes_left(X, rows, nodes)
        nodes = np.where(left, tree.left.take(nodes), tree.right.take(nodes))
        leaf[place] = nodes


@dataclass(frozen=True)
class PermutationImportance:
    """How much the out-of-bag loss grows when one feature is shuffled.

    Attributes
    ----------
    importances : ndarray of shape (d, n_repeats), in units of the loss
    importances_mean, importances_std : ndarrays of shape (d,), over the repeats; the
        spread is that of the shuffling alone, not that of new data or a new forest
    """

    importances: Floats

    @property
    def importances_mean(self) -> Floats:
        return self.importances.mean(axis=1)

    @property
    def importances_std(self) -> Floats:
        return self.importances.std(axis=1)


# What the chapter derives, each as one function


def out_of_bag_average(
    predictions: Iterable[ArrayLike], rows: Iterable[Ints], n: int
) -> tuple[Floats, Ints]:
    """Return each row's mean over the trees that did not see it, and their number.

    Parameters
    ----------
    predictions : B >= 1 arrays of shape (rows, K), one for each tree
    rows : B arrays of row numbers below n, those that tree b did not see, each once
    n : number of rows

    Returns
    -------
    mean : ndarray of shape (n, K); NaN for a row that every tree saw
    count : ndarray of shape (n,), how many trees did not see the row

    Raises
    ------
    ValueError
        If shapes do not fit, a prediction is not finite, or ``rows`` are no row numbers.
    """
    total: Any = None
    count = np.zeros(n, dtype=np.intp)
    for values, outside in zip(predictions, rows, strict=True):
        values, outside = _one_for_each_row(values, outside, n)
        if not count.any():  # no tree has said anything yet
            total = np.zeros((n, values.shape[1]))
        if len(values) and values.shape[1] != total.shape[1]:
            raise ValueError("All trees must say equally many numbers of a row.")
        total[outside] += values
        count[outside] += 1
    if total is None:
        raise ValueError("There must be at least one tree.")
    nobody = (count == 0)[:, np.newaxis]
    return np.where(nobody, np.nan, total / np.maximum(count, 1)[:, np.newaxis]), count


def _one_for_each_row(values: ArrayLike, rows: Ints, n: int) -> tuple[Floats, Ints]:
    """Return values, shape (rows, K), and rows, if they are different and below n."""
    values, rows = as_float(values, "predictions"), row_numbers(rows, n)
    if values.ndim != 2 or len(rows) != len(values):
        raise ValueError(
            "What a tree says must have the shape (rows, K), K numbers for each of its "
            f"rows, got {values.shape} for row numbers of shape {rows.shape}.")
    if np.bincount(rows).max(initial=0) > 1:
        raise ValueError("A tree's row numbers must be different.")
    return values, rows


def permutation_increases(
    loss: Callable[[Floats], float], X: Floats, orders: Sequence[Ints]
) -> Floats:
    """Return by how much the loss grows when one column of X is put into other orders.

    Parameters
    ----------
    loss : maps a data matrix of shape (n, d) to the mean loss of a model; the targets
        stay where they are
    X : ndarray of shape (n, d)
    orders : permutations of 0, ..., n - 1; row i gets the value of row order[i]

    Returns
    -------
    ndarray of shape (d, len(orders))

    Raises
    ------
    ValueError
        If X is not a matrix, or one of the orders is not a permutation of the rows.
    """
    X = as_matrix(X)
    _check_orders(orders, len(X))
    before = loss(X.copy())
    increases = np.empty((X.shape[1], len(orders)))
    for feature in range(X.shape[1]):
        for k, order in enumerate(orders):
            shuffled = X.copy()
            shuffled[:, feature] = X[order, feature]
            increases[feature, k] = loss(shuffled) - before
    return increases


def _check_orders(orders: Sequence[Ints], n: int) -> None:
    for order in orders:
        order = np.asarray(order)
        whole = order.dtype.kind in "iu" and order.ndim == 1
        if not whole or not np.array_equal(np.sort(order), np.arange(n)):
            raise ValueError(f"Each order must hold each of 0..{n - 1} once.")


def shared_and_own_variance(predictions: ArrayLike) -> tuple[Floats, Floats]:
    """Split the variance of a tree into what the trees of a forest share and the rest.

    Trees of one forest have grown on the same training set, each with dice of its own.
    The variance over both, s^2, is the variance of the expected tree of a training set,
    rho s^2, plus the mean variance of the trees around it, (1 - rho) s^2.

    Parameters
    ----------
    predictions : array of shape (R, B, m), R >= 2 training sets, B >= 2 trees on each,
        at the same m points

    Returns
    -------
    shared, own : ndarrays of shape (m,), unbiased estimates of rho s^2, which may come
        out below 0, and of (1 - rho) s^2
    """
    predictions = as_float(predictions, "predictions")
    if predictions.ndim != 3 or min(predictions.shape[:2]) < 2:
        raise ValueError(
            "predictions must have the shape (training sets, trees, points) with at "
            f"least two of the first two, got {predictions.shape}."
        )
    check_size("predictions", predictions)
    own = predictions.var(axis=1, ddof=1).mean(axis=0)
    forests = predictions.mean(axis=1)
    return forests.var(axis=0, ddof=1) - own / predictions.shape[1], own


# Growing


def check_size(name: str, values: Floats) -> None:
    """Raise ValueError if squares of the values would overflow or be lost."""
    largest = np.abs(values).max(initial=0.0)
    if largest and not SMALLEST <= largest <= 1 / SMALLEST:
        raise ValueError(
            f"The largest |{name}| must be 0 or between {SMALLEST:g} and "
            f"{1 / SMALLEST:g}, as squares are summed, got {largest:g}. Multiply {name} "
            "by a power of ten.")


def power_of_two(values: Floats) -> Floats:
    """Return for each column (or one vector) a power of two near its largest |value|.

    To divide by it rounds nothing above 1e-308, and leaves values below 2 in size.
    """
    return np.ldexp(1.0, np.maximum(largest_exponent(values, axis=0) - 1, -1022))


def bootstrap_counts(seed: int, n: int, chance: Floats | None = None) -> Ints:
    """Return how often each of n rows is drawn in n draws, shape (n,).

    ``chance``, shape (n,), holds the probabilities of the rows; None: all alike.
    """
    rng = np.random.default_rng(seed)
    if chance is None:
        drawn = rng.integers(0, n, size=n)
    else:
        drawn = rng.choice(n, size=n, p=chance)
    return np.bincount(drawn.astype(np.intp), minlength=n)  # intp may have 32 bits


def grow_trees(
    columns: Columns,
    target: NDArray[Any],
    weights: Floats,
    criterion: Criterion,
    n_classes: int | None = None,
    *,
    max_depth: int | None = None,
    **options: Any,
) -> list[ForestTree]:
    """Grow one tree for each row of ``weights``, all at once.

    Parameters
    ----------
    columns : Columns, of n rows
    target : ndarray of shape (n,), classes 0, 1, ... or numbers
    weights : ndarray of shape (B, n), of the rows in each tree; 0 keeps a row out
    criterion : Criterion
    n_classes : int; None for a regression
    max_depth : int, optional
    options : of ``ExactSplits``; ``max_features`` is an int here and needs ``rng``

    Raises
    ------
    ValueError
        If a weight is negative, or a row of ``weights`` is all 0, or a target is no
        class below ``n_classes``, or weights of a tree or numbers are too large or
        small to be squared, or the criterion is one for the other kind of target, or
        ``max_features`` comes without ``rng``.
    """
    target, weights = _check_growth(columns, target, weights, n_classes)
    _check_options(criterion, n_classes, **options)
    tree_number, row = np.nonzero(weights)
    weight = weights[tree_number, row].astype(float)
    if n_classes is None:
        stats = np.stack([weight, weight * target[row]])
    else:
        stats = np.zeros((n_classes, len(row)))
        stats[target[row], np.arange(len(row))] = weight
    finder = ExactSplits(
        columns, stats, criterion, target=target[row], x_row=row, tree=tree_number,
        **options,
    )
    tree, _ = grow(finder, max_depth=max_depth)
    if n_classes is None:
        value = (tree.sums[1] / tree.sums[0])[:, np.newaxis]
    else:
        value = (tree.sums / tree.sums.sum(axis=0)).T
    return [ForestTree(tree, root, value) for root in range(len(weights))]


def _check_growth(
    columns: Columns, target: NDArray[Any], weights: Floats, n_classes: int | None
) -> tuple[NDArray[Any], Floats]:
    n = columns.rank.shape[1]
    target, weights = np.asarray(target), as_float(weights, "weights")
    if target.shape != (n,) or weights.ndim != 2 or weights.shape[1] != n:
        raise ValueError(
            f"X has {n} rows: target must have the shape ({n},) and weights (trees, {n}),"
            f" got {target.shape} and {weights.shape}.")
    if (weights < 0).any() or not weights.any(axis=1).all():
        raise ValueError("No weight may be negative, and every tree needs a row of "
                         "positive weight.")
    for largest in np.sort(weights.max(axis=1))[[0, -1]]:  # a tree of its own each
        check_size("weights", largest)
    if n_classes is None:
        target = as_float(target, "target")
        check_size("target", target)
    elif target.dtype.kind not in "iu" or target.min() < 0 or target.max() >= n_classes:
        raise ValueError(f"target must hold whole numbers from 0 to {n_classes - 1}.")
    return target, weights


def _check_options(
    criterion: Criterion, n_classes: int | None, *, max_features: int | None = None,
    rng: Any = None, **_: Any,
) -> None:
    if isinstance(criterion, SquaredError) != (n_classes is None):
        raise ValueError("SquaredError is for numbers, with n_classes=None; the other "
                         f"criteria are for classes. Got n_classes={n_classes}.")
    if max_features is not None and rng is None:
        raise ValueError("max_features draws columns: rng must be a Generator.")


def impurity_shares(trees: Sequence[ForestTree], n_columns: int) -> Floats:
    """Return each column's share of a tree's impurity decrease, shape (B, n_columns).

    A tree without a split, or without a gain, has shares of 0.
    """
    shares = np.zeros((len(trees), n_columns))
    done: dict[int, Ints] = {}
    for b, member in enumerate(trees):
        tree = member.tree
        if id(tree) not in done:
            done[id(tree)] = _root_of_each_node(tree)
        if len(tree.categorical) != n_columns:
            raise ValueError(f"The trees grew on {len(tree.categorical)} columns, "
                             f"not {n_columns}.")
        inner = np.flatnonzero((done[id(tree)] == member.root) & ~tree.is_leaf)
        gain = np.maximum(tree.gain[inner], 0.0)
        if gain.sum() > 0:
            shares[b] = np.bincount(tree.feature[inner], gain, n_columns) / gain.sum()
    return shares


def _root_of_each_node(tree: Tree) -> Ints:
    root = np.arange(tree.node_count)
    for depth in range(1, int(tree.depth.max()) + 1):  # parents before their children
        level = np.flatnonzero(tree.depth == depth)
        root[level] = root[tree.parent[level]]
    return root


# The estimators


class _Forest(Estimator):
    """What both forests share."""

    criterion: str
    n_estimators: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    max_features: str | int | float | None
    bootstrap: bool
    oob_score: bool
    n_projections: int
    random_state: Any
    _criteria: dict[str, type]
    _n_classes: int | None
    _range: tuple[float, float]  # of the means: rounding must not carry them out of it

    def _fit(self, X: Floats, target: NDArray[Any], weight: Floats) -> None:
        B = check_integer("n_estimators", self.n_estimators, low=1)
        criterion = self._criteria[
            check_choice("criterion", self.criterion, list(self._criteria))]()
        bootstrap = check_bool("bootstrap", self.bootstrap)
        if check_bool("oob_score", self.oob_score) and not bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: without it no row is "
                             "out of bag.")
        for name in ("oob_score_", "oob_count_", "oob_decision_function_",
                     "oob_prediction_"):
            vars(self).pop(name, None)
        weight, X, target = relative_weights(weight, X, target)
        n, d = X.shape
        rng = random_generator(self.random_state)
        self.projections_ = self._draw_projections(X, rng)
        options = self._growth_options(d + len(self.projections_))
        self._seeds = [int(seed) for seed in rng.integers(0, 2**31 - 1, size=B)]
        self._chance = None if (weight == weight[0]).all() else weight / weight.sum()
        self._n_rows, self._bootstrapped = n, bootstrap
        self._training_set = fingerprint(X, target, weight)
        columns = Columns(self._with_projections(X))
        at_once = SUMS_AT_ONCE // (n * (self._n_classes or 2)) + 1
        self.trees_: list[ForestTree] = []
        for first in range(0, B, at_once):
            numbers = range(first, min(first + at_once, B))
            weights = np.array([self._counts(b) for b in numbers]) if bootstrap \
                else np.broadcast_to(weight, (len(numbers), n))
            self.trees_ += grow_trees(columns, target, weights, criterion,
                                      self._n_classes, rng=rng, **options)
        self.feature_importances_ = self._impurity_importances(X)
        if self.oob_score:
            self._score_out_of_bag(X, target, weight)

    def _growth_options(self, n_columns: int) -> dict[str, Any]:
        depth = self.max_depth
        return {
            "max_depth": None if depth is None
            else check_integer("max_depth", depth, low=1),
            "min_samples_split": check_integer(
                "min_samples_split", self.min_samples_split, low=2),
            "min_samples_leaf": check_integer(
                "min_samples_leaf", self.min_samples_leaf, low=1),
            "max_features": columns_per_node(self.max_features, n_columns),
        }

    # Random linear combinations

    def _draw_projections(self, X: Floats, rng: np.random.Generator) -> Floats:
        """Return coefficients of shape (n_projections, d), drawn once for the forest."""
        n_projections = check_integer("n_projections", self.n_projections, low=0)
        d = X.shape[1]
        coefficients = np.zeros((n_projections, d))
        spread = spreads(X) if n_projections else np.ones(d)
        for f in np.flatnonzero(spread):
            if not 1e-300 <= spread[f] <= 1e300:
                raise ValueError(
                    "n_projections divides by standard deviations, which must be 0 or "
                    f"between 1e-300 and 1e300, got {spread[f]:g} in column {f}. "
                    "Multiply the column by a power of ten.")
        # the rounding of a nearly constant column would drown the others
        spread[spread <= 1e-12 * np.abs(X).max(axis=0)] = np.inf
        for row in coefficients:
            chosen = rng.choice(d, min(FEATURES_IN_A_PROJECTION, d), replace=False)
            row[chosen] = rng.uniform(-1, 1, size=len(chosen)) / spread[chosen]
        return coefficients

    def with_projections(self, X: ArrayLike) -> Floats:
        """Return X with the forest's linear combinations as further columns.

        These are the columns that ``trees_`` ask for, shape (n, d + n_projections).
        """
        return self._with_projections(self._check_new_data(X))

    def _with_projections(self, X: Floats) -> Floats:
        if not len(self.projections_):
            return X
        combined = np.empty((len(X), len(self.projections_)))
        for column, coefficients in zip(combined.T, self.projections_, strict=True):
            # term by term: a matrix product may round a row by who stands beside it
            used = np.flatnonzero(coefficients)
            with np.errstate(over="ignore", invalid="ignore"):
                column[:] = sum(coefficients[f] * X[:, f] for f in used)
        if not np.isfinite(combined).all():
            raise ValueError(
                "A linear combination of the columns overflows: values of X are more "
                "than 1e300 times the standard deviations that fit has seen.")
        return np.hstack([X, combined])

    def _impurity_importances(self, X: Floats) -> Floats:
        """Return the mean shares of the features, shape (d,), with sum 1 (or all 0).

        What a linear combination has gained is handed on to its features in proportion
        to |coefficient| times standard deviation.
        """
        d = X.shape[1]
        shares = impurity_shares(self.trees_, d + len(self.projections_))
        if len(self.projections_):
            part = np.abs(self.projections_) * spreads(X)
            part /= np.maximum(part.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            shares = shares[:, :d] + shares[:, d:] @ part
        mean = shares[shares.any(axis=1)].sum(axis=0)
        return mean / mean.sum() if mean.any() else mean

    # Averages over trees

    def _average(self, X: Floats) -> Floats:
        """Return the mean of all trees, shape (n, K)."""
        X = self._with_projections(X)
        together = Counter(id(member.tree) for member in self.trees_)
        size = PLACES_AT_ONCE // max(together.values()) + 1
        parts = (X[first : first + size] for first in range(0, len(X), size))
        total = [sum(tree_predictions(self.trees_, part)) for part in parts]
        return np.clip(np.concatenate(total) / len(self.trees_), *self._range)

    def _counts(self, b: int) -> Ints:
        return bootstrap_counts(self._seeds[b], self._n_rows, self._chance)

    def out_of_bag_rows(self) -> list[Ints]:
        """Return for each tree the training rows (of positive weight) it did not see."""
        self._check_is_fitted()
        if not self._bootstrapped:
            raise ValueError("Without bootstrap=True no row is out of bag.")
        return [np.flatnonzero(self._counts(b) == 0) for b in range(len(self.trees_))]

    def _out_of_bag(self, X: Floats, rows: Sequence[Ints]) -> tuple[Floats, Ints]:
        """Return out-of-bag predictions, shape (n, K), and how many trees made each.

        ``rows`` are the rows of the training data that tree b did not see.
        """
        predictions = tree_predictions(self.trees_, self._with_projections(X), rows)
        mean, count = out_of_bag_average(predictions, rows, len(X))
        return np.clip(mean, *self._range), count

    def _score_out_of_bag(self, X: Floats, target: NDArray[Any], weight: Floats) -> None:
        prediction, self.oob_count_ = self._out_of_bag(X, self.out_of_bag_rows())
        never_out = self.oob_count_ == 0
        if never_out.any():
            warn(
                f"{never_out.sum()} of {len(never_out)} rows were drawn by every tree: "
                "their out-of-bag predictions are NaN and left out of oob_score_. Use "
                "more trees.")
        self._store_out_of_bag(prediction)
        self.oob_score_ = math.nan
        if not never_out.all():
            self.oob_score_ = self._oob_score(
                prediction[~never_out], target[~never_out], weight[~never_out])

    def _oob_loss(self, target: NDArray[Any], weight: Floats) -> Callable[..., float]:
        """Return the mean out-of-bag loss as a function of the data matrix.

        Raises ValueError if there is no such row.
        """
        rows = self.out_of_bag_rows()
        if not any(map(len, rows)):
            raise ValueError("Every tree saw every row: none is out of bag.")

        def loss(X: Floats) -> float:
            prediction, count = self._out_of_bag(X, rows)
            there = count > 0
            losses = self._losses(prediction[there], target[there])
            return float(np.average(losses, weights=weight[there]))

        return loss

    def permutation_importance(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_repeats: int = 5,
        random_state: Any = None,
    ) -> PermutationImportance:
        """Shuffle one feature at a time and see how the out-of-bag loss grows.

        Each row is predicted by the trees that did not see it, with another row's value
        in the shuffled column. One shuffle serves all trees, and the k-th of each
        feature is the same. Linear combinations are formed anew from it.

        Parameters
        ----------
        X, y, sample_weight : the training data, exactly as ``fit`` was given them
        n_repeats : int >= 1, shuffles of each feature
        random_state : int, Generator or None

        Returns
        -------
        PermutationImportance, in units of the loss: error rate, or squared units of y

        Raises
        ------
        ValueError
            If the data are not those of ``fit``, or ``fit`` drew no bootstrap samples,
            or every tree saw every row.
        """
        X = self._check_new_data(X)
        n_repeats = check_integer("n_repeats", n_repeats, low=1)
        rng = random_generator(random_state)
        weight = check_sample_weight(sample_weight, len(X))
        if y is None:
            raise ValueError("permutation_importance requires the y of fit, got None.")
        y = as_vector(y)
        if len(y) != len(X):
            raise ValueError("Found input variables with inconsistent numbers of "
                             f"samples: [{len(X)}, {len(y)}]")
        X, y, weight = positive_rows(weight, X, y, weight)
        weight, X, target = relative_weights(weight, X, self._encode(y))
        if fingerprint(X, target, weight) != self._training_set:
            raise ValueError("These are not the training data: which rows are out of "
                             "bag is known for the data of fit alone.")
        orders = [rng.permutation(len(X)) for _ in range(n_repeats)]
        loss = self._oob_loss(target, weight)
        return PermutationImportance(permutation_increases(loss, X, orders))

    # What a classifier and a regressor do each in their own way

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _losses(self, prediction: Floats, target: NDArray[Any]) -> Floats:
        raise NotImplementedError

    def _oob_score(
        self, prediction: Floats, target: NDArray[Any], weight: Floats
    ) -> float:
        raise NotImplementedError

    def _store_out_of_bag(self, prediction: Floats) -> None:
        raise NotImplementedError


class RandomForestClassifier(_Forest, Classifier):
    """The mean class shares of many randomised trees.

    Parameters
    ----------
    n_estimators : int >= 1, number of trees
    criterion : "gini" or "entropy"
    max_depth : int >= 1 or None, no limit
    min_samples_split, min_samples_leaf : int, least number of different rows in a node
        that is split, and in a leaf
    max_features : columns that each node draws and looks at (more only while none of
        them can be cut): "sqrt", a number, a fraction in (0, 1], or None for all
    bootstrap : bool, whether each tree draws n rows with replacement, in proportion to
        ``sample_weight``; without, the weights enter the sums of the splits
    oob_score : bool, whether ``fit`` predicts every row by the trees that did not see it
    n_projections : int, random linear combinations that are added to the columns: each
        of three features (all, where there are fewer), divided by their standard
        deviations, with coefficients uniform in [-1, 1], and 0 for a feature
        that is constant but for rounding (deviation below 1e-12 of its size).
        They are drawn once for the whole forest, where Breiman's Forest-RC draws new
        ones at every node
    random_state : int, Generator or None

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    trees_ : list of B ForestTree; with ``n_projections`` they ask for the columns of
        ``with_projections(X)``
    feature_importances_ : ndarray of shape (d,), shares of the impurity decrease on the
        training data
    oob_decision_function_ : ndarray of shape (n, K), NaN where every tree saw the row;
        rows of weight 0 are not among the n. With ``oob_score`` only, like the next two
    oob_score_ : float, the accuracy of its largest entries, in [0, 1], weighted
    oob_count_ : ndarray of shape (n,), trees that did not see the row
    projections_ : ndarray of shape (n_projections, d), coefficients
    """

    _criteria = {"gini": Gini, "entropy": Entropy}
    _range = (0.0, 1.0)

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: str | int | float | None = "sqrt",
        bootstrap: bool = True,
        oob_score: bool = False,
        n_projections: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_projections = n_projections
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RandomForestClassifier:
        """Grow the trees on X (n, d) and labels y (n,); return self."""
        X, target, weight = self._check_fit_data_and_target(X, y, sample_weight)
        self._n_classes = len(self.classes_)
        self._fit(X, target, weight)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the mean class shares of the leaves, shape (n, K)."""
        return self._average(self._check_new_data(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest mean share, shape (n,)."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        classes, target = np.unique(check_labels(y), return_inverse=True)
        if not np.array_equal(classes, self.classes_):
            raise ValueError("These are not the training data: the classes differ.")
        return target

    def _losses(self, prediction: Floats, target: NDArray[Any]) -> Floats:
        return (prediction.argmax(axis=1) != target).astype(float)

    def _oob_score(
        self, prediction: Floats, target: NDArray[Any], weight: Floats
    ) -> float:
        return float(1 - np.average(self._losses(prediction, target), weights=weight))

    def _store_out_of_bag(self, prediction: Floats) -> None:
        self.oob_decision_function_ = prediction


class RandomForestRegressor(_Forest, Regressor):
    """The mean of many randomised regression trees.

    Parameters and attributes are those of ``RandomForestClassifier``, but for
    ``criterion``, which is "squared_error"; ``max_features``, by default all columns;
    ``oob_prediction_``, shape (n,); and ``oob_score_``, which is R^2 in (-inf, 1].
    """

    _criteria = {"squared_error": SquaredError}
    _n_classes = None

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: str | int | float | None = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_projections: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_projections = n_projections
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RandomForestRegressor:
        """Grow the trees on X (n, d) and numbers y (n,); return self.

        Raises ValueError if squares of y would overflow or be lost: the largest |y|
        must be 0 or between 1e-70 and 1e70.
        """
        X, target, weight = self._check_fit_data_and_target(X, y, sample_weight)
        check_size("y", target)
        self._range = (target.min(), target.max())
        self._fit(X, target, weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the mean of the trees, shape (n,)."""
        return self._average(self._check_new_data(X))[:, 0]

    def _encode(self, y: NDArray[Any]) -> NDArray[Any]:
        return as_float(y, "y")

    def _losses(self, prediction: Floats, target: NDArray[Any]) -> Floats:
        return (prediction[:, 0] - target) ** 2

    def _oob_score(
        self, prediction: Floats, target: NDArray[Any], weight: Floats
    ) -> float:
        return r_squared(target, prediction[:, 0], weight)

    def _store_out_of_bag(self, prediction: Floats) -> None:
        self.oob_prediction_ = prediction[:, 0]


# Arguments


def columns_per_node(max_features: Any, n_columns: int) -> int:
    """Return how many of the columns a node draws.

    All of them are drawn too where all are looked at: in a node of two rows every
    feature gains the same, and the first one drawn wins.
    """
    if max_features is None:
        return n_columns
    if isinstance(max_features, str):
        check_choice("max_features", max_features, ["sqrt"])
        return max(1, math.isqrt(n_columns))
    if isinstance(max_features, (float, np.floating)):
        share = check_number("max_features", max_features, above=0.0, high=1.0)
        return max(1, int(share * n_columns))
    return check_integer("max_features", max_features, low=1, high=n_columns)


def relative_weights(
    weight: Floats, *arrays: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Return weights of a size near 1, and the arrays, without the rows of weight 0.

    A common factor changes nothing; it is taken out, so that weights that are all alike
    become 1. Beside the largest a weight may vanish: it is below 1e-323 of it.
    """
    weight = weight / power_of_two(weight)
    if (weight == weight[0]).all():
        weight = np.ones(len(weight))
    return positive_rows(weight, weight, *arrays)


def spreads(X: Floats) -> Floats:
    """Return the standard deviation of each column, 0 for a constant one, shape (d,)."""
    unit = power_of_two(X)
    constant = X.max(axis=0) == X.min(axis=0)  # its mean may be rounded
    return np.where(constant, 0.0, unit * (X / unit).std(axis=0))


def fingerprint(*arrays: NDArray[Any]) -> str:
    """Return a digest that tells whether two training sets are the same."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update((np.asarray(array, dtype=np.float64) + 0.0).tobytes())  # no -0.0
    return digest.hexdigest()
