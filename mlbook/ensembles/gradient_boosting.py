"""Gradient boosting: gradient descent in which every step is a regression tree.

The model is F(x) = F_0 + eta sum_t f_t(x). In round t a regression tree is fitted by
least squares to the negative slopes of the loss at the current predictions, which are
what a step straight downhill would add at each training row. Then every leaf takes a
value of its own: the constant that lowers the loss most there for the squared and the
absolute loss, one Newton step towards it for the others. Last, the tree is multiplied
by the learning rate eta and added.

Sources: Friedman (2001) for the descent and the leaves; Friedman (2002) for the
subsample. scikit-learn's GradientBoosting classes follow the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import SquaredError
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import Ints, Tree, grow
from mlbook.scaling import scaled
from mlbook.validation import (
    Floats,
    as_float,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

# Losses


class Loss(Protocol):
    """A loss of targets y (n,) and predictions F (n, K), with sample weights (n,).

    F has a column for each class where there are three or more, otherwise one. A label
    and its opposite are treated alike: 1 - sigmoid(F) is written sigmoid(-F), because
    the difference is rounded to 0 as soon as F is 37.
    """

    def start(self, y: Floats, weight: Floats) -> Floats:
        """Return the constant prediction of least loss, shape (K,)."""

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        """Return the weighted mean loss."""

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        """Return minus the derivative of each row's loss by F, shape (n, K)."""

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        """Return what to add to F[:, k] in each leaf, shape (n_leaves,).

        ``leaf``, shape (n,), holds the number of each row's leaf. A leaf without rows
        gets 0.
        """


class SquaredLoss:
    """(y - F)^2 / 2: the negative slope is the residual, a leaf takes its mean."""

    def start(self, y: Floats, weight: Floats) -> Floats:
        return np.array([np.average(y, weights=weight)])

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        return float(np.average((y - F[:, 0]) ** 2, weights=weight) / 2)

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        return y[:, np.newaxis] - F

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        total = np.bincount(leaf, weight * (y - F[:, 0]), n_leaves)
        return _ratio(total, np.bincount(leaf, weight, n_leaves))


class AbsoluteLoss:
    """abs(y - F): the negative slope is the residual's sign, a leaf takes the median.

    A row that is met exactly has no slope; it counts as 1, as in scikit-learn.
    """

    def start(self, y: Floats, weight: Floats) -> Floats:
        return medians(y, weight, np.zeros(len(y), dtype=np.intp), 1)

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        return float(np.average(np.abs(y - F[:, 0]), weights=weight))

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        return np.where(y[:, np.newaxis] < F, -1.0, 1.0)

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        return medians(y - F[:, 0], weight, leaf, n_leaves)


class LogisticLoss:
    """log(1 + e^F) - y F for y in {0, 1}; a leaf takes one Newton step."""

    def start(self, y: Floats, weight: Floats) -> Floats:
        return log_odds(y, weight)

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        return float(np.average(np.logaddexp(0, F[:, 0]) - y * F[:, 0], weights=weight))

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        y = y[:, np.newaxis]
        return y * sigmoid(-F) - (1 - y) * sigmoid(F)  # y - sigmoid(F)

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        r = self.negative_gradient(y, F)[:, 0]
        slope = np.bincount(leaf, weight * r, n_leaves)
        bend = weight * sigmoid(F[:, 0]) * sigmoid(-F[:, 0])  # p (1 - p)
        return _ratio(slope, np.bincount(leaf, bend, n_leaves))


class ExponentialLoss:
    """exp(-(2y - 1) F) for y in {0, 1}: AdaBoost's loss, at F = half the log odds."""

    def start(self, y: Floats, weight: Floats) -> Floats:
        return log_odds(y, weight) / 2

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        return float(np.average(np.exp(-(2 * y - 1) * F[:, 0]), weights=weight))

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        sign = (2 * y - 1)[:, np.newaxis]
        return sign * np.exp(-sign * F)

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        sign = 2 * y - 1
        height = weight * np.exp(-sign * F[:, 0])  # the slope's size and the curvature
        slope = np.bincount(leaf, sign * height, n_leaves)
        return _ratio(slope, np.bincount(leaf, height, n_leaves))


class MultinomialLoss:
    """-log softmax(F)_y for y in {0, ..., K - 1}; one tree for each class and round.

    A leaf takes (K - 1) / K of the Newton step that knows only the curvature of its own
    class, as in Friedman (2001): the trees of a round do not wait for each other.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = check_integer("n_classes", n_classes, low=2)

    def start(self, y: Floats, weight: Floats) -> Floats:
        logs = np.log(np.bincount(y.astype(np.intp), weight, self.n_classes))
        return logs - logs.mean()

    def value(self, y: Floats, F: Floats, weight: Floats) -> float:
        chosen = F[np.arange(len(y)), y.astype(np.intp)]
        return float(np.average(log_sum_exp(F) - chosen, weights=weight))

    def negative_gradient(self, y: Floats, F: Floats) -> Floats:
        p, others = softmax_and_rest(F)
        return np.where(y[:, np.newaxis] == np.arange(self.n_classes), others, -p)

    def leaf_values(
        self, y: Floats, F: Floats, k: int, weight: Floats, leaf: Ints, n_leaves: int
    ) -> Floats:
        p, others = (part[:, k] for part in softmax_and_rest(F))
        slope = np.bincount(leaf, weight * np.where(y == k, others, -p), n_leaves)
        step = _ratio(slope, np.bincount(leaf, weight * p * others, n_leaves))
        return step * (self.n_classes - 1) / self.n_classes


def log_odds(y: Floats, weight: Floats) -> Floats:
    """Return log(weight of the ones / weight of the zeros) of y in {0, 1}, shape (1,).
    """
    return np.array([np.log(np.sum(weight * y)) - np.log(np.sum(weight * (1 - y)))])


def sigmoid(F: ArrayLike) -> Floats:
    """Return 1 / (1 + e^-F) without overflow, of the shape of F."""
    return np.exp(-np.logaddexp(0, -np.asarray(F, dtype=np.float64)))


def log_sum_exp(F: Floats) -> Floats:
    """Return log sum_k e^F_k of each row of F, shape (n,), without overflow.

    Raises ValueError unless F is a finite matrix of shape (n, K).
    """
    F = as_float(F, "F")
    if F.ndim != 2 or F.shape[1] == 0:
        raise ValueError(f"F must have shape (n, K) with K >= 1, got {F.shape}.")
    highest = F.max(axis=1)
    return highest + np.log(np.exp(F - highest[:, np.newaxis]).sum(axis=1))


def softmax(F: Floats) -> Floats:
    """Return e^F_k / sum_l e^F_l for each row of F, shape (n, K).

    Raises ValueError unless F is a finite matrix of shape (n, K).
    """
    return np.exp(F - log_sum_exp(F)[:, np.newaxis])


def softmax_and_rest(F: Floats) -> tuple[Floats, Floats]:
    """Return p = softmax(F) and 1 - p, each of shape (n, K).

    1 - p is summed from the probabilities of the other classes: where p is nearly 1,
    nothing is left of the difference.
    """
    p = softmax(F)
    return p, p @ (1 - np.eye(p.shape[1]))


def medians(values: Floats, weight: Floats, group: Ints, n_groups: int) -> Floats:
    """Return the weighted median of each group, shape (n_groups,); 0 for an empty one.

    Where half of a group's weight lies on either side of a gap between two values, it
    is the middle of the gap: a row of weight 2 counts as two rows. Raises ValueError
    unless ``values``, ``weight`` >= 0 and ``group`` in {0, ..., n_groups - 1} have
    shape (n,).
    """
    values, weight = as_float(values, "values"), as_float(weight, "weight")
    group = np.asarray(group)
    if values.ndim != 1 or not values.shape == weight.shape == group.shape:
        raise ValueError(
            "values, weight and group must have one shape (n,), got "
            f"{values.shape}, {weight.shape} and {group.shape}."
        )
    if (weight < 0).any() or not np.isin(group, np.arange(n_groups)).all():
        raise ValueError(
            f"weight must be >= 0 and group one of 0, ..., {n_groups - 1}."
        )
    nearly = 1e-12  # running sums of weights meet one half only up to rounding
    order = np.lexsort((values, group))
    values, weight = values[order], scaled(weight[order])
    names, starts = np.unique(group[order], return_index=True)
    found = np.zeros(n_groups)
    for name, x, part in zip(
        names, np.split(values, starts)[1:], np.split(weight, starts)[1:], strict=True
    ):
        running = np.cumsum(part)
        if running[-1] > 0:
            share = running / running[-1]
            lower = np.count_nonzero(share < 0.5 - nearly)
            upper = np.count_nonzero(share <= 0.5 + nearly)
            found[int(name)] = x[lower] / 2 + x[upper] / 2
    return found


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient; 0 where the denominator is below 1e-150, as in scikit-learn.

    So an empty leaf adds nothing, nor does one in which the curvature has vanished.
    """
    safe = denominator > 1e-150
    return np.where(safe, numerator / np.where(safe, denominator, 1.0), 0.0)


# Rounds

# For each column of F a tree, and what it adds there in each of its nodes, (nodes,)
Round = list[tuple[Tree, Floats]]


def add_round(F: Floats, grown: Round, X: Floats) -> None:
    """Add what a round's trees say about the rows of X to F (n, K), in place."""
    for k, (tree, step) in enumerate(grown):
        F[:, k] += step[tree.apply(X)]


def has_stopped_falling(losses: list[float], patience: int, tol: float) -> bool:
    """Return whether the last loss is not ``tol`` below any of the ``patience`` before.
    """
    check_integer("patience", patience, low=1)
    if len(losses) <= patience:
        return False
    *before, last = losses
    return last + tol >= max(before[-patience:])


# Estimators


class _GradientBoosting(Estimator):
    """The descent, which the classifier and the regressor share."""

    _losses: tuple[str, ...]

    def __init__(
        self,
        loss: str,
        n_estimators: int,
        learning_rate: float,
        max_depth: int | None,
        subsample: float,
        min_samples_split: int,
        min_samples_leaf: int,
        max_leaf_nodes: int | None,
        n_iter_no_change: int | None,
        validation_fraction: float,
        tol: float,
        random_state: Any,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.subsample = subsample
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, self._losses)
        check_integer("n_estimators", self.n_estimators, low=1)
        check_number("learning_rate", self.learning_rate, low=0)
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, low=1)
        check_number("subsample", self.subsample, above=0, high=1)
        check_integer("min_samples_split", self.min_samples_split, low=2)
        check_integer("min_samples_leaf", self.min_samples_leaf, low=1)
        if self.max_leaf_nodes is not None:
            check_integer("max_leaf_nodes", self.max_leaf_nodes, low=2)
        if self.n_iter_no_change is not None:
            check_integer("n_iter_no_change", self.n_iter_no_change, low=1)
        check_number("validation_fraction", self.validation_fraction, above=0, below=1)
        check_number("tol", self.tol, low=0)

    @np.errstate(over="ignore", invalid="ignore")  # _loss_after reports it
    def _descend(self, X: Floats, y: Floats, weight: Floats, loss: Loss) -> None:
        """Fit ``n_estimators`` rounds, fewer where the held-out loss stops falling."""
        weight = scaled(weight)  # only the ratios of the weights count
        if weight.min() < 1e-100:
            raise ValueError(
                "A sample_weight is less than 1e-100 of another: set it to 0."
            )
        rng = random_generator(self.random_state)
        held = self._hold_out(y, rng)
        X_new, y_new, weight_new = X[held], y[held], weight[held]
        X, y, weight = X[~held], y[~held], weight[~held]
        columns = Columns(X, presort=self.subsample == 1)
        self.start_ = loss.start(y, weight)
        F, F_new = (np.tile(self.start_, (len(rows), 1)) for rows in (X, X_new))
        self.trees_: list[Round] = []
        losses: list[float] = []
        watched: list[float] = []
        self._loss_after(0, loss, y, F, weight)
        for t in range(1, self.n_estimators + 1):
            self.trees_.append(self._round(columns, y, weight, F, loss, rng))
            losses.append(self._loss_after(t, loss, y, F, weight))
            if self.n_iter_no_change is not None:
                add_round(F_new, self.trees_[-1], X_new)
                watched.append(self._loss_after(t, loss, y_new, F_new, weight_new))
                if has_stopped_falling(watched, self.n_iter_no_change, self.tol):
                    break
        self.train_score_, self.validation_score_ = np.array(losses), np.array(watched)
        self.n_estimators_ = len(self.trees_)

    def _loss_after(
        self, t: int, loss: Loss, y: Floats, F: Floats, weight: Floats
    ) -> float:
        """Return the mean loss after round t (0: the start).

        Raises ValueError where it overflows.
        """
        value = loss.value(y, F, weight) if np.isfinite(F).all() else np.inf
        if np.isfinite(value):
            return value
        what = "The predictions or their loss overflow"
        if t == 0:
            raise ValueError(f"{what} at the start: give y in a larger unit.")
        raise ValueError(f"{what} after round {t}: lower learning_rate.")

    def _round(
        self, columns: Columns, y: Floats, weight: Floats, F: Floats, loss: Loss,
        rng: np.random.Generator,
    ) -> Round:
        """Fit a tree for each column of F, all to slopes at the same F; add them."""
        rows = None
        if self.subsample < 1:
            size = max(1, int(self.subsample * len(y)))
            rows = np.sort(rng.choice(len(y), size, replace=False))
        used = slice(None) if rows is None else rows
        before = F.copy()
        r = loss.negative_gradient(y, before)
        grown: Round = []
        for k in range(F.shape[1]):
            tree, leaf = self._fit_tree(columns, r[:, k], weight, rows)
            w = loss.leaf_values(
                y[used], before[used], k, weight[used], leaf[used], tree.node_count
            )
            step = self.learning_rate * w
            F[:, k] += step[leaf]
            grown.append((tree, step))
        return grown

    def _fit_tree(
        self, columns: Columns, target: Floats, weight: Floats, rows: Ints | None
    ) -> tuple[Tree, Ints]:
        """Return a regression tree for the target and the leaf of every row of X.

        Only its shape is used: its sums and gains are those of the scaled target.
        """
        target = scaled(target)
        stats = np.stack([weight, weight * target])
        if rows is not None:
            stats, target = stats[:, rows], target[rows]
        finder = ExactSplits(
            columns, stats, SquaredError(), target=target, x_row=rows,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        tree, leaf = grow(finder, self.max_depth, self.max_leaf_nodes)
        return tree, leaf if rows is None else tree.apply(columns.X)

    def _hold_out(self, y: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which rows are kept aside, shape (n,): none without early stopping."""
        held = np.zeros(len(y), dtype=bool)
        if self.n_iter_no_change is None:
            return held
        size = int(np.ceil(self.validation_fraction * len(y)))
        held[rng.permutation(len(y))[:size]] = True
        if held.all():
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves no row of "
                f"{len(y)} to fit: lower it, or set n_iter_no_change=None."
            )
        if self._estimator_type == "classifier" and (
            len(np.unique(y[~held])) < len(np.unique(y))
        ):
            raise ValueError(
                "The rows that are fitted lack a class: lower validation_fraction or "
                "change random_state."
            )
        return held

    def _staged_scores(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield F after each round, (m, K): one array, which every round changes.

        X is checked at once, and a later ``fit`` does not change what is yielded.
        """
        X = self._check_new_data(X)
        F = np.tile(self.start_, (len(X), 1))

        def stages(trees: list[Round]) -> Iterator[Floats]:
            for grown in trees:
                add_round(F, grown, X)
                yield F

        return stages(self.trees_)

    def _scores(self, X: ArrayLike) -> Floats:
        """Return F after the last round, (m, K)."""
        *_, F = self._staged_scores(X)
        return F


class GradientBoostingRegressor(Regressor, _GradientBoosting):
    """Gradient boosting of regression trees.

    Parameters
    ----------
    loss : "squared_error" or "absolute_error"
    n_estimators : int >= 1, rounds
    learning_rate : float >= 0, the factor eta of every tree; above 2 the squared loss
        grows from round to round
    max_depth : int >= 1, of each tree; None: until its leaves are pure or too small
    subsample : float in (0, 1], the share of the rows that a round draws for its trees
        and their leaves, without replacement
    min_samples_split, min_samples_leaf, max_leaf_nodes : as in DecisionTreeRegressor
    n_iter_no_change : int >= 1, optional; stop at a round whose loss on held-out rows
        is not ``tol`` below any of that many rounds before it, and keep all rounds.
        None: no row is held out
    validation_fraction : float in (0, 1), the share of the rows held out
    tol : float >= 0, in units of the loss
    random_state : None, int or Generator, for ``subsample`` and the held-out rows

    Attributes
    ----------
    start_ : ndarray of shape (1,), the constant F_0
    trees_ : list of rounds, each a list of (tree, what its nodes add, times eta); the
        sums and gains of a tree are in units of its own
    train_score_ : ndarray of shape (n_estimators_,), the mean loss of the rows that are
        not held out, after each round; a squared error counts half, and the rows that
        ``subsample`` passes over count too
    validation_score_ : ndarray, the same of the rows held out; empty without
        ``n_iter_no_change``
    n_estimators_ : int, rounds that were run
    """

    _losses = ("squared_error", "absolute_error")

    def __init__(
        self,
        loss: str = "squared_error",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 3,
        subsample: float = 1.0,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_leaf_nodes: int | None = None,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss, n_estimators, learning_rate, max_depth, subsample, min_samples_split,
            min_samples_leaf, max_leaf_nodes, n_iter_no_change, validation_fraction,
            tol, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> GradientBoostingRegressor:
        """Fit to X of shape (n, d) and y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where predictions or their loss overflow.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        losses = {"squared_error": SquaredLoss, "absolute_error": AbsoluteLoss}
        self._descend(X, y, weight, losses[self.loss]())
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return F(x) for each row, of shape (m,), in units of y."""
        return self._scores(X)[:, 0]

    def staged_predict(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the prediction after each round, each of shape (m,)."""
        return (F[:, 0].copy() for F in self._staged_scores(X))


class GradientBoostingClassifier(Classifier, _GradientBoosting):
    """Gradient boosting of regression trees for class probabilities.

    Parameters as those of ``GradientBoostingRegressor``; ``loss`` is "log_loss", or
    "exponential" for two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    start_ : ndarray of shape (1,) for two classes, else (K,)
    trees_, train_score_, validation_score_, n_estimators_ : as in
        ``GradientBoostingRegressor``
    """

    _losses = ("log_loss", "exponential")

    def __init__(
        self,
        loss: str = "log_loss",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 3,
        subsample: float = 1.0,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_leaf_nodes: int | None = None,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss, n_estimators, learning_rate, max_depth, subsample, min_samples_split,
            min_samples_leaf, max_leaf_nodes, n_iter_no_change, validation_fraction,
            tol, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> GradientBoostingClassifier:
        """Fit to X of shape (n, d) and labels y of shape (n,), of two classes or more.

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where predictions or their loss overflow.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y contains 1 class, {self.classes_[0]}: boosting needs two or more."
            )
        if self.loss == "exponential" and n_classes > 2:
            raise ValueError(
                f"loss='exponential' needs two classes, got {n_classes}; use "
                "'log_loss'."
            )
        if self.loss == "exponential":
            loss: Loss = ExponentialLoss()
        else:
            loss = LogisticLoss() if n_classes == 2 else MultinomialLoss(n_classes)
        self._descend(X, y.astype(np.float64), weight, loss)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return F(x): shape (m,) for two classes, (m, K) for more.

        For two classes it is the log odds of ``classes_[1]``, with loss="exponential"
        half of them; for more, the logarithms of the probabilities up to a constant
        that is the same for all classes.
        """
        F = self._scores(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class probabilities, shape (m, K)."""
        return self._probabilities(self._scores(X))

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield the probabilities after each round, each of shape (m, K)."""
        return (self._probabilities(F) for F in self._staged_scores(X))

    def _probabilities(self, F: Floats) -> Floats:
        if F.shape[1] > 1:
            return softmax(F)
        logit = F[:, 0] * (2 if self.loss == "exponential" else 1)
        return np.column_stack([sigmoid(-logit), sigmoid(logit)])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest probability, shape (m,).

        Of equal ones it is the first in ``classes_``. Where two classes have 1/2 each,
        scikit-learn takes the second.
        """
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]
