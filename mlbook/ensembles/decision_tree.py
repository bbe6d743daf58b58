"""Decision trees for classification and regression (CART).

A tree cuts the feature space into boxes and predicts a constant in each. It is grown by
``tree.grow``, which asks a split finder for the cut of largest gain. This module adds
what a single tree needs beside that: surrogate splits for missing values, pruning by the
weakest link, and ways to read the tree.

Sources: Breiman, Friedman, Olshen and Stone (1984); for surrogates the rule of the R
package rpart (Therneau and Atkinson, "An introduction to recursive partitioning").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Regressor
from mlbook.ensembles.criteria import Entropy, Gini, SquaredError
from mlbook.ensembles.splits import (
    Columns,
    ExactSplits,
    OpenNodes,
    best_in_segments,
    cut_between,
    sort_within,
)
from mlbook.ensembles.tree import Bools, Ints, Splits, Tree, grow
from mlbook.scaling import largest_exponent
from mlbook.validation import (
    Floats,
    as_float,
    check_choice,
    check_integer,
    check_number,
    random_generator,
)

CRITERIA = {"gini": Gini, "entropy": Entropy, "squared_error": SquaredError}

# Sums of fractional weights round: what differs by less than this share is a tie. A
# power of two, so that multiplying by it is exact.
SLACK = 2.0**-36


# ------------------------------------------------------------------ surrogate splits


@dataclass
class Surrogates:
    """For each of m nodes up to S splits that imitate its own, the best one first.

    Attributes
    ----------
    feature : ndarray of shape (m, S), -1 where there is none; S is at most d - 1
    threshold : ndarray of shape (m, S)
    low_left : ndarray of shape (m, S) of bool, x <= threshold goes left; else right
    agreement : ndarray of shape (m, S), the share of the weight that has a value for
        the node's own split and that the surrogate sends the same way
    adjusted : ndarray of shape (m, S), the same on a scale where sending everything to
        the heavier child is 0 and full agreement 1
    """

    feature: Ints
    threshold: Floats
    low_left: Bools
    agreement: Floats
    adjusted: Floats

    @classmethod
    def none(cls, m: int, width: int) -> Surrogates:
        """Return m nodes without a surrogate."""
        shape = m, width
        return cls(np.full(shape, -1, dtype=np.intp), np.zeros(shape),
                   np.zeros(shape, dtype=bool), np.zeros(shape), np.zeros(shape))

    def take(self, nodes: Any) -> Surrogates:
        """Return the surrogates of some of the nodes."""
        return Surrogates(*(getattr(self, f.name)[nodes] for f in fields(self)))

    def put(self, nodes: Ints, other: Surrogates) -> None:
        """Write those of ``other`` at ``nodes``."""
        for f in fields(self):
            getattr(self, f.name)[nodes] = getattr(other, f.name)

    def send_left(self, X: Floats, rows: Ints, nodes: Ints, default: Bools) -> Bools:
        """Return where X[rows], without a value for their node's split, go left.

        A row follows the first surrogate that it has a value for, else ``default``.
        """
        left = default.copy()
        waiting = np.ones(len(rows), dtype=bool)
        for feature, threshold, low_left in zip(
            self.feature.T, self.threshold.T, self.low_left.T, strict=True
        ):
            f = feature[nodes]
            x = X[rows, f]
            decided = waiting & (f >= 0) & ~np.isnan(x)
            below = x <= threshold[nodes]
            left[decided] = (below == low_left[nodes])[decided]
            waiting &= ~decided
        return left


def find_surrogates(
    columns: Columns, nodes: OpenNodes, splits: Splits, left: Bools, weight: Floats,
    max_surrogates: int,
) -> tuple[Surrogates, Bools]:
    """Return the surrogates of split nodes, and which nodes have the heavier child left.

    ``left``, shape (M,), says where the split itself sends the nodes' rows; for rows
    without its value it is ignored. A surrogate is a cut of another numeric feature that
    agrees with the split on more weight than the heavier child holds; rows without the
    surrogate's value count as disagreement.
    """
    rows, node, starts = nodes.order[0], nodes.node, nodes.starts
    has_primary = ~np.isnan(columns.X[rows, splits.feature[node]])
    sides = np.stack([has_primary & left, has_primary & ~left]) * weight[rows]
    by_side = np.add.reduceat(sides, starts, axis=1)
    total, majority = by_side.sum(axis=0), by_side.max(axis=0)
    minority = by_side.min(axis=0)  # above 0, where total - majority may round to 0
    d, m = len(columns.rank), len(nodes.counts)
    agreement = np.full((d, m), -np.inf)
    threshold, low_left = np.zeros((d, m)), np.zeros((d, m), dtype=bool)
    for f in np.flatnonzero(~columns.categorical):
        agreement[f], threshold[f], low_left[f] = _best_surrogate(
            columns, f, nodes, sides, has_primary
        )
        agreement[f, splits.feature == f] = -np.inf
    agreement[agreement <= majority * (1 + SLACK)] = -np.inf
    # the first of equally good features comes first
    in_steps = np.rint(agreement / (total * SLACK))
    best = np.argsort(-in_steps, axis=0, kind="stable")[:max_surrogates]
    every = np.arange(m)
    found = Surrogates.none(m, max_surrogates)
    used = agreement[best, every].T > -np.inf
    width = len(best)
    share = np.where(used, agreement[best, every].T, 0.0)
    found.feature[:, :width] = np.where(used, best.T, -1)
    found.threshold[:, :width] = np.where(used, threshold[best, every].T, 0.0)
    found.low_left[:, :width] = used & low_left[best, every].T
    found.agreement[:, :width] = share / total[:, np.newaxis]
    found.adjusted[:, :width] = np.where(
        used, (share - majority[:, np.newaxis]) / minority[:, np.newaxis], 0.0
    )
    return found, by_side[0] >= by_side[1] * (1 - SLACK)


def _best_surrogate(
    columns: Columns, f: int, nodes: OpenNodes, sides: Floats, has_primary: Bools
) -> tuple[Floats, Floats, Bools]:
    """Return agreement, threshold and direction of feature f's best cut in each node.

    ``sides`` is (2, M): the weight of each row, where the split sends it left and where
    right. Cuts are tried in ascending order, the first of the best wins, and at least
    two rows that have both values lie on either side (rpart's rule).
    """
    rows, counts, starts = nodes.order[0], nodes.counts, nodes.starts
    key = columns.rank[f].take(rows)
    by_key = sort_within(nodes.node, key)
    key, values = key[by_key], columns.by_column[f].take(rows[by_key])
    present = ~np.isnan(values)
    # weight that goes left, weight that goes right and number of rows, with both values
    parts = np.concatenate([sides, has_primary[np.newaxis]])[:, by_key] * present
    low = np.cumsum(parts, axis=1)
    low -= np.repeat(low[:, starts] - parts[:, starts], counts, axis=1)
    last = starts + counts - 1
    high = np.repeat(low[:, last], counts, axis=1) - low
    low_goes_left, low_goes_right = low[0] + high[1], low[1] + high[0]
    after = np.minimum(np.arange(len(key)) + 1, len(key) - 1)
    # two rows behind the cut have values, so the next value is not a missing one
    allowed = (key[after] != key) & (low[2] >= 2) & (high[2] >= 2)
    allowed[last] = False
    agreement = np.where(allowed, np.maximum(low_goes_left, low_goes_right), -np.inf)
    best, position = best_in_segments(agreement, starts, counts, slack=SLACK)
    return (
        best,
        cut_between(values[position], values[after[position]]),
        (low_goes_left >= low_goes_right)[position],
    )


class SurrogateSplits(ExactSplits):
    """Prices a cut on the rows that have its value; surrogates send the other rows.

    Parameters are those of ``ExactSplits`` and

    weight : ndarray of shape (n,), the weight of each row
    max_surrogates : int >= 0
    """

    def __init__(
        self, *args: Any, weight: Floats, max_surrogates: int, **options: Any
    ) -> None:
        super().__init__(*args, missing="ignore", **options)
        self.weight, self.max_surrogates = weight, max_surrogates
        self.record: list[Surrogates] = []  # of the nodes that were cut, in that order

    def children(
        self, frontier: OpenNodes, splits: Splits, chosen: Bools, last: bool = False
    ) -> OpenNodes:
        """Find surrogates for the chosen nodes, then cut them."""
        cut = Splits(*(
            None if part is None else part[chosen]
            for part in (splits.gain, splits.feature, splits.threshold,
                         splits.missing_left, splits.subset)
        ))
        inside = chosen[frontier.node]
        nodes = OpenNodes(frontier.order[:, inside], frontier.counts[chosen],
                          frontier.sums[:, chosen])
        found, heavier_left = find_surrogates(
            self.columns, nodes, cut, super().send(nodes, cut), self.weight,
            self.max_surrogates,
        )
        self.record.append(found)
        splits.missing_left[chosen] = cut.missing_left = heavier_left
        return super().children(nodes, cut, np.ones(len(nodes.counts), dtype=bool), last)

    def send(self, frontier: OpenNodes, splits: Splits) -> Bools:
        """Return where each row goes left, by surrogates where its value is missing."""
        left = super().send(frontier, splits)
        rows, node = self.rows_and_nodes(frontier)
        at = np.flatnonzero(np.isnan(self.columns.X[rows, splits.feature[node]]))
        left[at] = self.record[-1].send_left(
            self.columns.X, rows[at], node[at], left[at]
        )
        return left


@dataclass
class SurrogateTree(Tree):
    """A tree whose nodes have surrogates.

    Attributes
    ----------
    surrogates : Surrogates of all nodes; none in a leaf
    """

    surrogates: Surrogates

    @classmethod
    def from_record(cls, tree: Tree, finder: SurrogateSplits) -> SurrogateTree:
        """Give a tree that was just grown the surrogates that its finder found."""
        surrogates = Surrogates.none(tree.node_count, finder.max_surrogates)
        inner = np.flatnonzero(~tree.is_leaf)
        # nodes were cut in the order in which their children were numbered
        inner = inner[np.argsort(tree.left[inner])]
        cuts = [len(found.feature) for found in finder.record]
        for found, nodes in zip(
            finder.record, np.split(inner, np.cumsum(cuts)[:-1]), strict=False
        ):
            surrogates.put(nodes, found)
        return cls(**vars(tree), surrogates=surrogates)

    def goes_left(self, X: Floats, rows: Ints, nodes: Ints) -> Bools:
        """Return where X[rows] goes left at the inner nodes ``nodes``, shape (rows,)."""
        left = super().goes_left(X, rows, nodes)
        at = np.flatnonzero(np.isnan(X[rows, self.feature[nodes]]))
        if len(at):
            left[at] = self.surrogates.send_left(X, rows[at], nodes[at], left[at])
        return left

    def collapse(self, into_leaf: Bools) -> tuple[SurrogateTree, Ints]:
        """Return the tree in which the marked nodes are leaves, and where nodes went."""
        tree, where = super().collapse(into_leaf)
        surrogates = self.surrogates.take(_kept(where))
        leaf = np.flatnonzero(tree.is_leaf)
        surrogates.put(leaf, Surrogates.none(len(leaf), surrogates.feature.shape[1]))
        return SurrogateTree(**vars(tree), surrogates=surrogates), where


# ------------------------------------------------------------------------- pruning


@dataclass
class PruningPath:
    """The trees between the full one and its root.

    Attributes
    ----------
    ccp_alphas : ndarray of shape (k,), ascending; the price of a leaf from which on the
        next subtree is pruned, 0 for the full tree
    impurities : ndarray of shape (k,), the weighted mean impurity of the leaves then
    """

    ccp_alphas: Floats
    impurities: Floats


def weakest_links(tree: Tree, risk: Floats) -> tuple[Floats, Floats, Ints]:
    """Prune a tree to its root, always where a leaf less costs the smallest risk.

    Parameters
    ----------
    tree : Tree
    risk : ndarray of shape (nodes,), what each node contributes if it is a leaf; a
        node's is at least the sum of its children's, or less by rounding only

    Returns
    -------
    alphas : ndarray of shape (k,), ascending; rise of the risk for each leaf less
    risks : ndarray of shape (k,), the risk of the whole tree after each pruning
    nodes : ndarray of shape (k,), the node that became a leaf

    Raises ValueError unless ``risk`` is finite and like that. Every pruning looks at
    all nodes, so that the time grows with the square of their number.
    """
    risk = as_float(risk, "risk")
    if risk.shape != (tree.node_count,):
        raise ValueError(
            f"risk must have one entry for each node, shape {(tree.node_count,)}, got "
            f"{risk.shape}."
        )
    inner = ~tree.is_leaf
    below = risk[tree.left] + risk[tree.right]
    rises = inner & (risk < below - SLACK * np.abs(below))
    if rises.any():
        raise ValueError(
            f"The risk of node {rises.argmax()} must be at least the sum of its "
            "children's."
        )
    branch, leaves = _leaf_totals(tree, risk)
    link = np.full(tree.node_count, np.inf)
    link[inner] = (risk - branch)[inner] / (leaves[inner] - 1)
    alpha, found = 0.0, []
    while link[0] < np.inf:
        weakest = int(link.argmin())
        alpha = max(alpha, link[weakest])  # rounding could let it fall
        rise, fewer = risk[weakest] - branch[weakest], leaves[weakest] - 1
        _close(tree, link, weakest)
        branch[weakest], leaves[weakest] = risk[weakest], 1
        above = tree.parent[weakest]
        while above >= 0:
            branch[above] += rise
            leaves[above] -= fewer
            link[above] = (risk[above] - branch[above]) / (leaves[above] - 1)
            above = tree.parent[above]
        found.append((alpha, branch[0], weakest))
    alphas, risks, nodes = zip(*found, strict=True) if found else ((), (), ())
    return np.array(alphas), np.array(risks), np.array(nodes, dtype=np.intp)


def _leaf_totals(tree: Tree, risk: Floats) -> tuple[Floats, Ints]:
    """Return the risk and the number of the leaves below each node."""
    branch = np.where(tree.is_leaf, risk, 0.0)
    leaves = tree.is_leaf.astype(np.intp)
    for nodes in _inner_levels(tree):
        left, right = tree.left[nodes], tree.right[nodes]
        branch[nodes] = branch[left] + branch[right]
        leaves[nodes] = leaves[left] + leaves[right]
    return branch, leaves


def _inner_levels(tree: Tree) -> list[Ints]:
    """Return the inner nodes of each level, the deepest level first."""
    inner = np.flatnonzero(~tree.is_leaf)
    depth = tree.depth[inner]
    inner = inner[np.argsort(depth, kind="stable")]
    return np.split(inner, np.cumsum(np.bincount(depth))[:-1])[::-1] if len(inner) else []


def _close(tree: Tree, link: Floats, node: int) -> None:
    """Take a node and all that is open below it off the list."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        link[node] = np.inf
        below = (tree.left[node], tree.right[node])
        waiting += [child for child in below if link[child] < np.inf]


def _kept(where: Ints) -> Ints:
    """Return the old numbers of the nodes that ``Tree.collapse`` kept."""
    return np.unique(where, return_index=True)[1]  # the one highest up comes first


# ---------------------------------------------------------------------- estimators


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
        ccp_alpha: float,
        max_surrogates: int,
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
        self.ccp_alpha = ccp_alpha
        self.max_surrogates = max_surrogates

    def _check_parameters(self) -> None:
        check_choice("criterion", self.criterion, self._criteria)
        check_integer("min_samples_split", self.min_samples_split, low=2)
        check_integer("min_samples_leaf", self.min_samples_leaf, low=1)
        check_number("min_impurity_decrease", self.min_impurity_decrease, low=0)
        check_number("ccp_alpha", self.ccp_alpha, low=0)
        check_integer("max_surrogates", self.max_surrogates, low=0)
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, low=0)
        if self.max_leaf_nodes is not None:
            check_integer("max_leaf_nodes", self.max_leaf_nodes, low=2)

    def _node_weights(self, tree: Tree) -> Floats:
        """Return the weight of the training rows in each node."""
        raise NotImplementedError

    def _node_impurities(
        self, tree: Tree, leaf: Ints, target: NDArray[Any], weight: Floats
    ) -> Floats:
        """Return the impurity of the training rows in each node."""
        raise NotImplementedError

    def _learn(
        self, X: Floats, stats: Floats, target: NDArray[Any], weight: Floats
    ) -> Ints:
        """Grow ``tree_`` and prune it, with ``impurity_``; return each row's leaf."""
        tree, leaf = self._grow(X, stats, target, weight)
        impurity = self._node_impurities(tree, leaf, target, weight)
        if self.ccp_alpha > 0:
            alphas, _, nodes = weakest_links(tree, self._risk(tree, impurity))
            into_leaf = np.zeros(tree.node_count, dtype=bool)
            into_leaf[nodes[alphas * (1 - SLACK) <= self.ccp_alpha]] = True
            tree, where = tree.collapse(into_leaf)
            impurity, leaf = impurity[_kept(where)], where[leaf]
        self.tree_, self.impurity_ = tree, impurity
        return leaf

    def _in_units_of(self, exponent: int) -> None:
        """Give sums and gains the power of two back that was taken out of the weights."""
        tree = self.tree_
        with np.errstate(over="ignore"):
            tree.sums = np.ldexp(tree.sums, exponent)
            tree.gain = np.ldexp(tree.gain, exponent)
            whole = self._node_weights(tree)[0]
        if not all(np.isfinite(part).all() for part in (tree.sums, tree.gain, whole)):
            raise ValueError(
                "sample_weight is too large: sums of it overflow. Divide the weights by "
                "their largest."
            )

    def _grow(
        self, X: Floats, stats: Floats, target: NDArray[Any], weight: Floats
    ) -> tuple[Tree, Ints]:
        """Return the full tree and the leaf of every row."""
        d = X.shape[1]
        n_features = count_features(self.max_features, d)
        options = {
            "min_samples_leaf": self.min_samples_leaf,
            "min_samples_split": self.min_samples_split,
            "max_features": None if n_features == d else n_features,
            "rng": random_generator(self.random_state),
            "target": target,
        }
        find = ExactSplits
        if np.isnan(X).any():
            width = min(self.max_surrogates, d - 1)  # the other features
            options |= {"weight": weight, "max_surrogates": width}
            find = SurrogateSplits
        finder = find(
            Columns(X, categorical=check_categories(X, self.categorical_features)),
            stats, CRITERIA[self.criterion](), **options,
        )
        # an impure node is split even where that gains nothing yet, as in XOR
        least = float(self.min_impurity_decrease) * float(weight.sum())
        tree, leaf = grow(
            finder, self.max_depth, self.max_leaf_nodes,
            least * (1 - SLACK) if least > 0 else -np.inf,
        )
        if isinstance(finder, SurrogateSplits):
            return SurrogateTree.from_record(tree, finder), leaf
        # nothing was missing: if something is later, it goes to the heavier child
        weights, inner = self._node_weights(tree), ~tree.is_leaf
        tree.missing_left[inner] = (
            weights[tree.left[inner]] >= weights[tree.right[inner]] * (1 - SLACK)
        )
        return tree, leaf

    def _risk(self, tree: Tree, impurity: Floats) -> Floats:
        """Return each node's share of the weight times its impurity, shape (nodes,)."""
        weights = self._node_weights(tree)
        risk = weights / weights[0] * impurity
        for nodes in _inner_levels(tree):  # no split raises it, nor may rounding
            children = risk[tree.left[nodes]] + risk[tree.right[nodes]]
            risk[nodes] = np.maximum(risk[nodes], children)
        return risk

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

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature's splits lower the impurity, shape (d,), sum 1 or 0."""
        self._check_is_fitted()
        tree, risk = self.tree_, self._risk(self.tree_, self.impurity_)
        inner = np.flatnonzero(~tree.is_leaf)
        fall = risk[inner] - (risk[tree.left[inner]] + risk[tree.right[inner]])
        importances = np.bincount(tree.feature[inner], fall, self.n_features_in_)
        total = importances.sum()
        return importances / total if total > 0 else np.zeros(self.n_features_in_)

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PruningPath:
        """Return from which ``ccp_alpha`` on which subtree goes, and what it costs.

        The estimator itself is not fitted. Raises what ``fit`` raises. A Generator as
        ``random_state`` moves on here, so that with ``max_features`` a later ``fit``
        grows another tree; an int seeds both alike.
        """
        self._check_parameters()
        full = type(self)(**{**self.get_params(deep=False), "ccp_alpha": 0.0})
        full.fit(X, y, sample_weight)
        risk = full._risk(full.tree_, full.impurity_)
        alphas, risks, _ = weakest_links(full.tree_, risk)
        start = _leaf_totals(full.tree_, risk)[0][0]
        return PruningPath(np.append(0.0, alphas), np.append(start, risks))


class DecisionTreeClassifier(Classifier, _DecisionTree):
    """A classification tree.

    Parameters
    ----------
    criterion : "gini" or "entropy"
    max_depth : int >= 0, optional; None: no limit
    min_samples_split : int >= 2, rows that a node needs to be split
    min_samples_leaf : int >= 1, rows that a child needs; rows without a value for the
        split do not count
    max_features : int, float, "sqrt", "log2" or None; features drawn for each node, a
        float as a share of d; more only while none of them offers a cut. None: all
    max_leaf_nodes : int >= 2, optional; the split of largest gain comes first
    min_impurity_decrease : float >= 0, the least gain of a split, as a share of the
        weight of all training rows. It counts the rows that have a value for the split:
        without missing values it is by how much the tree's mean impurity falls
    categorical_features : sequence of int, optional; columns that hold codes 0, 1, ...,
        at most 4096. A category that did not occur goes right
    random_state : None, int or Generator, for ``max_features``
    ccp_alpha : float >= 0, the price of a leaf in units of impurity; subtrees that do
        not pay it are pruned
    max_surrogates : int >= 0, numeric splits kept for rows that lack the value a node
        asks for; looked for where X has missing values in ``fit``. A row that has none
        of their values goes to the heavier child. The rule that two rows lie on either
        side of a surrogate counts rows, whatever they weigh

    Attributes
    ----------
    tree_ : Tree, or SurrogateTree if X had missing values
    impurity_ : ndarray of shape (nodes,), that of the training rows in each node
    classes_ : ndarray of shape (K,)
    feature_importances_ : ndarray of shape (d,)
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
        ccp_alpha: float = 0.0,
        max_surrogates: int = 5,
    ) -> None:
        super().__init__(
            criterion, max_depth, min_samples_split, min_samples_leaf, max_features,
            max_leaf_nodes, min_impurity_decrease, categorical_features, random_state,
            ccp_alpha, max_surrogates,
        )

    def _node_weights(self, tree: Tree) -> Floats:
        return tree.sums.sum(axis=0)

    def _node_impurities(
        self, tree: Tree, leaf: Ints, target: NDArray[Any], weight: Floats
    ) -> Floats:
        return CRITERIA[self.criterion]().impurity(tree.sums)

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionTreeClassifier:
        """Fit to X of shape (n, d), NaN where missing, and labels y of shape (n,).

        A whole weight k stands for k equal rows, except where rows are counted:
        ``min_samples_split``, ``min_samples_leaf`` and the choice of surrogates. Rows
        of less than 1e-11 of their node's weight may be overlooked there: what they
        change in the scores of its cuts counts as rounding. Raises ValueError or
        TypeError for bad parameters and bad data.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        weight, exponent = without_scale(weight)
        stats = np.zeros((len(self.classes_), len(y)))
        stats[y, np.arange(len(y))] = weight
        self._learn(X, stats, y, weight)
        self._in_units_of(exponent)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class shares of each row's leaf, of shape (m, K)."""
        leaf = self.apply(X)
        sums = self.tree_.sums
        return (sums / sums.sum(axis=0))[:, leaf].T

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest share, the first of equals, shape (m,)."""
        share = self.predict_proba(X)
        return self.classes_[largest_class(share.T)]


class DecisionTreeRegressor(Regressor, _DecisionTree):
    """A regression tree: each leaf predicts the mean of its training rows.

    Parameters as those of ``DecisionTreeClassifier``; the only criterion is
    "squared_error", and ``min_impurity_decrease`` and ``ccp_alpha`` are in squared units
    of y. The range of y must have a square that float64 can hold: 0, or from about
    1e-150 to 1e150, and from further up if the weights of the rows are unequal.

    Attributes
    ----------
    tree_ : Tree, whose sums are those of (w, w (y - mean of y)), or SurrogateTree
    impurity_ : ndarray of shape (nodes,), the variance of y in each node
    value_ : ndarray of shape (nodes,), the mean of y in each node
    feature_importances_ : ndarray of shape (d,)
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
        ccp_alpha: float = 0.0,
        max_surrogates: int = 5,
    ) -> None:
        super().__init__(
            criterion, max_depth, min_samples_split, min_samples_leaf, max_features,
            max_leaf_nodes, min_impurity_decrease, categorical_features, random_state,
            ccp_alpha, max_surrogates,
        )

    def _node_weights(self, tree: Tree) -> Floats:
        return tree.sums[0]

    def _node_impurities(
        self, tree: Tree, leaf: Ints, target: NDArray[Any], weight: Floats
    ) -> Floats:
        weights, mean = tree.sums[0], node_means(tree, leaf, target, weight)
        deviation = target - mean[leaf]
        squares = np.bincount(leaf, weight * deviation * deviation, tree.node_count)
        for nodes in _inner_levels(tree):  # sums of squares, so nothing cancels
            left, right = tree.left[nodes], tree.right[nodes]
            squares[nodes] = squares[left] + squares[right] + between_sum_of_squares(
                weights[left], mean[left], weights[right], mean[right]
            )
        return squares / weights

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionTreeRegressor:
        """Fit to X of shape (n, d), NaN where missing, and y of shape (n,).

        A whole weight k stands for k equal rows, except where rows are counted:
        ``min_samples_split``, ``min_samples_leaf`` and the choice of surrogates. Rows
        of less than 1e-11 of their node's weight may be overlooked there. Raises
        ValueError or TypeError for bad parameters and bad data.
        """
        self._check_parameters()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        weight, exponent = without_scale(weight)
        check_range_of_target(y, weight)
        above = y - y.min()
        # an offset that all y share would cost their sums digits
        centred = above - np.average(above, weights=weight)
        leaf = self._learn(X, np.stack([weight, weight * centred]), y, weight)
        self.value_ = node_means(self.tree_, leaf, y, weight)
        self._in_units_of(exponent)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the mean of each row's leaf, of shape (m,), in units of y."""
        leaf = self.apply(X)
        return self.value_[leaf]


def largest_class(sums: Floats) -> Ints:
    """Return the position of the largest of sums, shape (K, ...), the first of equals."""
    return (sums >= sums.max(axis=0) * (1 - SLACK)).argmax(axis=0)


def node_means(tree: Tree, leaf: Ints, y: Floats, weight: Floats) -> Floats:
    """Return the weighted mean of y in each node, shape (nodes,), in units of y.

    ``leaf``, shape (n,), is the leaf of each row. Differences are averaged, so that
    nothing far away costs a leaf its digits and equal rows give their value exactly.
    """
    weights = tree.sums[0]
    mean = np.zeros(tree.node_count)
    mean[leaf] = y  # that of one row, to which the mean difference is added
    mean += np.bincount(leaf, weight * (y - mean[leaf]), tree.node_count) / weights
    for nodes in _inner_levels(tree):
        left, right = tree.left[nodes], tree.right[nodes]
        share = weights[right] / weights[nodes]
        mean[nodes] = mean[left] + share * (mean[right] - mean[left])
    return mean


def between_sum_of_squares(
    weight_left: Any, mean_left: Any, weight_right: Any, mean_right: Any
) -> Any:
    """Return by how much the sum of squares of a node exceeds that of its two parts.

    That is w_L w_R / (w_L + w_R) times the squared difference of the parts' means, in
    squared units of the target; finite numbers or arrays of one shape, weights above 0,
    or ValueError is raised. A square beyond float64 is infinite, with NumPy's warning.
    """
    weight_left = as_float(weight_left, "weight_left")
    weight_right = as_float(weight_right, "weight_right")
    mean_left = as_float(mean_left, "mean_left")
    mean_right = as_float(mean_right, "mean_right")
    if not ((weight_left > 0) & (weight_right > 0)).all():
        raise ValueError("The weight of either part must be > 0.")
    shared = weight_left * (weight_right / (weight_left + weight_right))
    return shared * np.subtract(mean_left, mean_right) ** 2


def without_scale(weight: Floats) -> tuple[Floats, int]:
    """Return weights of which the largest is from 1/2 to 1, and the exponent k.

    The weights that were given are 2**k times these, exactly: growing a tree squares
    sums of weights, and the squares of very large or very small ones leave float64.
    ``weight`` is finite and above 0. Raises ValueError for a range so wide that no
    scale helps; well inside it light rows already lose their say, see ``fit``.
    """
    exponent = int(largest_exponent(weight))
    scaled = np.ldexp(weight, -exponent)
    if scaled.min() < 1e-150:
        raise ValueError(
            "sample_weight spans a factor of more than 1e150. Give the rows of the "
            "smallest weights the weight 0."
        )
    return scaled, exponent


def check_range_of_target(y: Floats, weight: Floats) -> None:
    """Raise ValueError unless squares of sums of y's differences are in float64.

    ``weight``, the weights of the rows, is at most 1.
    """
    with np.errstate(over="ignore"):
        spread = y.max() - y.min()
        largest = (len(y) * spread) ** 2
    if 0 < spread and weight.min() * spread < 1e-151 or not np.isfinite(largest):
        finite = np.isfinite(spread)
        size = f"difference, {spread:.3g}" if finite else f"size, {np.abs(y).max():.3g}"
        raise ValueError(
            "y must be scaled: squares of its differences, times the weights of their "
            f"rows, leave the range of float64. Divide y by its largest {size}."
        )


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
    X = as_float(X, allow_nan=True)
    d = X.shape[1]
    categorical = np.zeros(d, dtype=bool)
    columns = [] if categorical_features is None else categorical_features
    try:
        array = np.asarray(columns)
    except ValueError:  # lists of unequal lengths
        array = np.empty((0, 0))
    if isinstance(columns, str) or array.ndim != 1 or array.dtype == bool:
        raise TypeError(
            "categorical_features must be a sequence of column numbers, for instance "
            f"np.flatnonzero(mask), got {categorical_features!r}."
        )
    for f in columns:
        check_integer("categorical_features", f, low=0, high=d - 1)
        codes = X[:, f][~np.isnan(X[:, f])]
        if (codes < 0).any() or (codes != np.floor(codes)).any() or (codes > 4096).any():
            raise ValueError(
                f"Column {f} is categorical and must hold whole numbers from 0 to 4096."
            )
        categorical[f] = True
    return categorical


# ------------------------------------------------------------------ reading a tree


def condition(
    model: DecisionTreeClassifier | DecisionTreeRegressor, node: int,
    feature_names: Sequence[str] | None = None, decimals: int = 2,
) -> tuple[str, str]:
    """Return what a row must satisfy to go left at an inner node, and to go right.

    Raises ValueError for a leaf, for a node that does not exist and for a wrong number
    of ``feature_names``, TypeError for names that are no sequence, NotFittedError
    before ``fit``; ``decimals`` are the digits behind the point, at most 100.
    """
    _check_node(model, node, decimals)
    tree = model.tree_
    f = tree.feature[node]
    if f < 0:
        raise ValueError(f"Node {node} is a leaf: it asks nothing.")
    name = _feature_names(model, feature_names)[f]
    if tree.categorical[f]:
        codes = ", ".join(map(str, np.flatnonzero(tree.subset[node])))
        return f"{name} in {{{codes}}}", f"{name} not in {{{codes}}}"
    threshold = _fixed(tree.threshold[node], decimals)
    return f"{name} <= {threshold}", f"{name} >  {threshold}"


def prediction_text(
    model: DecisionTreeClassifier | DecisionTreeRegressor, node: int, decimals: int = 2
) -> str:
    """Return what a node, inner or leaf, predicts, as text.

    Raises ValueError for a node that does not exist, NotFittedError before ``fit``.
    """
    _check_node(model, node, decimals)
    if isinstance(model, DecisionTreeRegressor):
        return _fixed(model.value_[node], decimals)
    return str(model.classes_[largest_class(model.tree_.sums[:, node])])


def _check_node(model: Any, node: int, decimals: int) -> None:
    model._check_is_fitted()
    check_integer("node", node, low=0, high=model.tree_.node_count - 1)
    check_integer("decimals", decimals, low=0, high=100)


def _fixed(value: float, decimals: int) -> str:
    """Write a number with ``decimals`` digits behind the point, without -0.00."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _feature_names(model: Any, names: Sequence[str] | None) -> Sequence[str]:
    d = model.n_features_in_
    if names is None:
        names = getattr(model, "feature_names_in_", [f"feature_{f}" for f in range(d)])
    if isinstance(names, str) or np.ndim(names) != 1:
        raise TypeError(f"feature_names must be a sequence of names, got {names!r}.")
    if len(names) != d:
        raise ValueError(f"feature_names must contain {d} elements, got {len(names)}.")
    return names


def export_text(
    model: DecisionTreeClassifier | DecisionTreeRegressor,
    feature_names: Sequence[str] | None = None, decimals: int = 2,
) -> str:
    """Return a fitted tree as text, one line for each branch and leaf.

    Parameters
    ----------
    model : DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of d strings, optional
    decimals : int from 0 to 100, digits behind the point

    Raises ValueError for a wrong number of names, NotFittedError before ``fit``. The
    format is that of scikit-learn's function of this name, except that -0.00 is 0.00.
    """
    model._check_is_fitted()
    check_integer("decimals", decimals, low=0, high=100)
    feature_names = _feature_names(model, feature_names)
    lines: list[str] = []
    waiting: list[tuple[int, int, str]] = [(0, 0, "")]
    while waiting:
        node, depth, heading = waiting.pop()
        if heading:
            lines.append("|   " * (depth - 1) + "|--- " + heading)
        if model.tree_.is_leaf[node]:
            said = prediction_text(model, node, decimals)
            regression = isinstance(model, DecisionTreeRegressor)
            lines.append("|   " * depth + "|--- "
                         + (f"value: [{said}]" if regression else f"class: {said}"))
            continue
        left, right = condition(model, node, feature_names, decimals)
        waiting.append((int(model.tree_.right[node]), depth + 1, right))
        waiting.append((int(model.tree_.left[node]), depth + 1, left))
    return "\n".join(lines) + "\n"
