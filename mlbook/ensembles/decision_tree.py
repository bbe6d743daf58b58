"""Decision trees for classification and regression (CART)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Entropy, Gini, SquaredError
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import Ints, grow
from mlbook.validation import (
    Floats,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

CRITERIA = {"gini": Gini, "entropy": Entropy, "squared_error": SquaredError}


class _DecisionTree(Estimator):
    """What the classifier and the regressor share."""

    _allow_nan = True
    _criteria: tuple[str, ...]

    def __init__(
        self,
        criterion: str,
        max_depth: int | None,
        min_samples_split: int,
        min_samples_leaf: int,
        max_features: int | float | str | None,
        max_leaf_nodes: int | None,
        min_impurity_decrease: float,
        categorical_features: Sequence[int] | None,
        random_state: Any,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("criterion", self.criterion, self._criteria)
        check_integer("min_samples_split", self.min_samples_split, low=2)
        check_integer("min_samples_leaf", self.min_samples_leaf, low=1)
        check_number("min_impurity_decrease", self.min_impurity_decrease, low=0)
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, low=0)
        if self.max_leaf_nodes is not None:
            check_integer("max_leaf_nodes", self.max_leaf_nodes, low=2)

    def _grow(
        self, X: Floats, stats: Floats, target: NDArray[Any], total_weight: float
    ) -> Ints:
        """Grow ``tree_`` and return the leaf of every row."""
        d = X.shape[1]
        n_features = count_features(self.max_features, d)
        finder = ExactSplits(
            Columns(X, categorical=check_categories(X, self.categorical_features)),
            stats,
            CRITERIA[self.criterion](),
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            max_features=None if n_features == d else n_features,
            rng=random_generator(self.random_state),
            target=target,
            missing="ignore",
        )
        # an impure node is split even where that gains nothing yet, as in XOR
        least = self.min_impurity_decrease * total_weight
        self.tree_, leaf = grow(
            finder, self.max_depth, self.max_leaf_nodes,
            least * (1 - 1e-12) if least > 0 else -np.inf,
        )
        return leaf

    def apply(self, X: ArrayLike) -> Ints:
        """Return the number of the leaf that each row of X reaches, shape (m,)."""
        X = self._check_new_data(X)
        return self.tree_.apply(X)

    def get_depth(self) -> int:
        """Return the depth of the tree: splits on the longest path."""
        self._check_is_fitted()
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        self._check_is_fitted()
        return int(self.tree_.is_leaf.sum())


class DecisionTreeClassifier(Classifier, _DecisionTree):
    """A classification tree.

    Parameters
    ----------
    criterion : "gini" or "entropy"
    max_depth : int >= 0, optional; None: no limit
    min_samples_split : int >= 2, rows that a node needs to be split
    min_samples_leaf : int >= 1, rows that a child needs
    max_features : int, float, "sqrt", "log2" or None; features drawn for each node, a
        float as a share of d; None: all
    max_leaf_nodes : int >= 2, optional; the split of largest gain comes first
    min_impurity_decrease : float >= 0, a split must lower the impurity of the training
        rows by that much
    categorical_features : sequence of int, optional; columns that hold codes 0, 1, ...
    random_state : None, int or Generator, for ``max_features``

    Attributes
    ----------
    tree_ : Tree
    classes_ : ndarray of shape (K,)
    """

    _criteria = ("gini", "entropy")

    def __init__(
        self,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        categorical_features: Sequence[int] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            criterion, max_depth, min_samples_split, min_samples_leaf, max_features,
            max_leaf_nodes, min_impurity_decrease, categorical_features, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionTreeClassifier:
        """Fit to X of shape (n, d), NaN where missing, and labels y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        stats = np.zeros((len(self.classes_), len(y)))
        stats[y, np.arange(len(y))] = weight
        self._grow(X, stats, y, weight.sum())
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class shares of each row's leaf, of shape (m, K)."""
        leaf = self.apply(X)
        sums = self.tree_.sums
        return (sums / sums.sum(axis=0))[:, leaf].T

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest share, the first of equals, shape (m,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class DecisionTreeRegressor(Regressor, _DecisionTree):
    """A regression tree: each leaf predicts the mean of its training rows.

    Parameters as those of ``DecisionTreeClassifier``; the only criterion is
    "squared_error", and ``min_impurity_decrease`` is in squared units of y.

    Attributes
    ----------
    tree_ : Tree, whose sums are those of (w, w (y - mean of y))
    value_ : ndarray of shape (nodes,), the mean of y in each node
    """

    _criteria = ("squared_error",)

    def __init__(
        self,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: int | float | str | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        categorical_features: Sequence[int] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            criterion, max_depth, min_samples_split, min_samples_leaf, max_features,
            max_leaf_nodes, min_impurity_decrease, categorical_features, random_state,
        )

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionTreeRegressor:
        """Fit to X of shape (n, d), NaN where missing, and y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        centre = np.average(y, weights=weight)
        centred = y - centre  # the score squares sums: an offset would cost digits
        self._grow(X, np.stack([weight, weight * centred]), y, weight.sum())
        self.value_ = centre + self.tree_.sums[1] / self.tree_.sums[0]
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the mean of each row's leaf, of shape (m,), in units of y."""
        leaf = self.apply(X)
        return self.value_[leaf]


def count_features(max_features: int | float | str | None, d: int) -> int:
    """Return how many of d features ``max_features`` stands for, at least 1."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        check_choice("max_features", max_features, ("sqrt", "log2"))
        return max(1, int(np.sqrt(d) if max_features == "sqrt" else np.log2(d)))
    if isinstance(max_features, (int, np.integer)):
        return check_integer("max_features", max_features, low=1, high=d)
    return max(1, int(check_number("max_features", max_features, above=0, high=1) * d))


def check_categories(
    X: Floats, categorical_features: Sequence[int] | None
) -> NDArray[np.bool_]:
    """Return which columns are categorical, after checking that they hold codes."""
    d = X.shape[1]
    categorical = np.zeros(d, dtype=bool)
    for f in () if categorical_features is None else categorical_features:
        check_integer("categorical_features", f, low=0, high=d - 1)
        codes = X[:, f][~np.isnan(X[:, f])]
        if (codes < 0).any() or (codes != np.floor(codes)).any() or (codes > 4096).any():
            raise ValueError(
                f"Column {f} is categorical and must hold whole numbers from 0 to 4096."
            )
        categorical[f] = True
    return categorical
