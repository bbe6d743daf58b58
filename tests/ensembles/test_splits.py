"""The exact split finder against a search that tries every cut, one at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlbook.ensembles.criteria import Entropy, Gini, Newton, SquaredError
from mlbook.ensembles.splits import (
    Columns,
    ExactSplits,
    OpenNodes,
    best_in_segments,
    category_scores,
    cut_between,
    pack,
    running_sums,
    sort_within,
)
from mlbook.ensembles.tree import grow

CRITERIA = {
    "gini": (Gini(), 3),
    "entropy": (Entropy(), 3),
    "squared_error": (SquaredError(), 2),
    "newton": (Newton(0.7, min_child_weight=1.5), 2),
}


def statistics(name, n, rng):
    if name in ("gini", "entropy"):
        return np.eye(3)[:, rng.integers(0, 3, n)] * rng.uniform(0.5, 2, n)
    if name == "newton":
        return np.stack([rng.normal(size=n), rng.uniform(0.1, 1, n)])
    w = rng.uniform(0.5, 2, n)
    return np.stack([w, w * rng.normal(size=n)])


def search(X, stats, criterion, min_leaf=1, learn=True):
    """Return the gain of the best cut, by trying all of them."""
    best = -np.inf
    for f in range(X.shape[1]):
        x = X[:, f]
        absent = np.isnan(x)
        sides = [False, True] if learn and absent.any() else [False]
        base = stats if learn else stats[:, ~absent]
        parent = criterion.score(base.sum(axis=1))
        cuts = np.unique(x[~absent])
        if not (learn and absent.any()):
            cuts = cuts[:-1]
        for value, missing_left in itertools.product(cuts, sides):
            left = x <= value
            if missing_left:
                left |= absent
            right = ~left if learn else ~left & ~absent
            if min(left.sum(), right.sum()) < max(min_leaf, 1):
                continue
            sums = [stats[:, side].sum(axis=1) for side in (left, right)]
            if any(criterion.allowed(s) is not None
                   and not criterion.allowed(s) for s in sums):
                continue
            best = max(best, sum(criterion.score(s) for s in sums) - parent)
    return best


@pytest.mark.parametrize("layout", ["sorted when needed", "presorted", "descending"])
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("missing", ["none", "learn", "ignore"])
def test_the_root_split_is_the_best_of_all(layout, name, missing):
    rng = np.random.default_rng(1)
    criterion = CRITERIA[name][0]
    for n, min_leaf in itertools.product((2, 5, 17, 40), (1, 4)):
        X = rng.integers(0, 7, (n, 3)) / 2
        if missing != "none":
            X[rng.random(X.shape) < 0.25] = np.nan
            X[:, 2] = np.nan
        stats = statistics(name, n, rng)
        columns = Columns(X, presort=layout != "sorted when needed",
                          descending=layout == "descending")
        finder = ExactSplits(
            columns, stats, criterion, min_samples_leaf=min_leaf,
            missing="ignore" if missing == "ignore" else "learn",
        )
        splits = finder.best(finder.root())
        expected = search(X, stats, criterion, min_leaf, missing != "ignore")
        np.testing.assert_allclose(splits.gain[0], expected, rtol=1e-9, atol=1e-12)
        if missing == "ignore" or expected == -np.inf:
            continue
        left = finder.send(finder.root(), splits)
        rows = finder.root().order[0]
        sides = [stats[:, rows[left]].sum(axis=1), stats[:, rows[~left]].sum(axis=1)]
        gain = sum(criterion.score(s) for s in sides)
        gain -= criterion.score(stats.sum(axis=1))
        np.testing.assert_allclose(gain, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("presort", [False, True])
def test_every_node_of_a_tree_has_the_best_split_of_its_rows(presort):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 4)).round(1)
    stats = statistics("gini", 120, rng)
    tree, leaf = grow(ExactSplits(Columns(X, presort), stats, Gini()), max_depth=4)
    np.testing.assert_array_equal(tree.apply(X), leaf)
    for node in np.flatnonzero(~tree.is_leaf):
        rows = np.isin(leaf, below(tree, node))
        assert tree.count[node] == rows.sum()
        np.testing.assert_allclose(tree.sums[:, node], stats[:, rows].sum(axis=1))
        assert tree.gain[node] == pytest.approx(search(X[rows], stats[:, rows], Gini()))
        left = np.isin(leaf, below(tree, tree.left[node]))
        assert (X[left, tree.feature[node]] <= tree.threshold[node]).all()
        right = np.isin(leaf, below(tree, tree.right[node]))
        assert (X[right, tree.feature[node]] > tree.threshold[node]).all()


def below(tree, node):
    """Return the nodes of the subtree that begins at ``node``."""
    found = [node]
    for k in found:
        if tree.feature[k] >= 0:
            found += [tree.left[k], tree.right[k]]
    return found


def test_equal_gains_go_to_the_first_feature_and_the_lowest_cut_or_the_highest():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    X = np.column_stack([x, x])
    stats = np.stack([np.ones(4), [1.0, -1.0, -1.0, 1.0]])  # cuts 0|1 and 2|3 tie
    for descending, threshold in ((False, 0.5), (True, 2.5)):
        columns = Columns(X, presort=True, descending=descending)
        splits = ExactSplits(columns, stats, SquaredError()).best(
            ExactSplits(columns, stats, SquaredError()).root()
        )
        assert splits.feature[0] == 0
        assert splits.threshold[0] == threshold


def test_trees_on_different_samples_grow_together_as_they_do_alone():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 3)).round(1)
    y = rng.integers(0, 2, 50)
    counts = rng.integers(0, 3, (4, 50))
    tree_of, x_row = np.nonzero(counts)
    stats = np.eye(2)[:, y[x_row]] * counts[tree_of, x_row]
    finder = ExactSplits(Columns(X), stats, Gini(), x_row=x_row, tree=tree_of,
                         target=y[x_row])
    together, _ = grow(finder)
    for b in range(4):
        rows = np.flatnonzero(counts[b])
        alone, _ = grow(ExactSplits(
            Columns(X[rows]), np.eye(2)[:, y[rows]] * counts[b, rows], Gini(),
            target=y[rows],
        ))
        shares = [t.sums[0] / t.sums.sum(axis=0) for t in (together, alone)]
        np.testing.assert_array_equal(
            shares[0][together.apply(X[rows], root=b)], shares[1][alone.apply(X[rows])]
        )


def test_a_node_looks_at_max_features_and_goes_on_while_nothing_can_be_cut():
    rng = np.random.default_rng(4)
    X = np.zeros((30, 6))
    X[:, 3] = np.arange(30)  # the only feature that can be cut
    stats = statistics("squared_error", 30, rng)
    finder = ExactSplits(Columns(X), stats, SquaredError(), max_features=1, rng=rng)
    assert finder.best(finder.root()).feature[0] == 3
    X = rng.normal(size=(30, 6))
    found = set()
    for _ in range(60):
        finder = ExactSplits(Columns(X), stats, SquaredError(), max_features=1, rng=rng)
        found.add(int(finder.best(finder.root()).feature[0]))
    assert found == set(range(6))


def test_max_leaf_nodes_splits_the_largest_gain_first():
    rng = np.random.default_rng(5)
    X, stats = rng.normal(size=(200, 3)), statistics("squared_error", 200, rng)
    finders = [ExactSplits(Columns(X, presort), stats, SquaredError())
               for presort in (False, True)]
    trees = [grow(finder, max_leaf_nodes=9)[0] for finder in finders]
    np.testing.assert_array_equal(trees[0].feature, trees[1].feature)
    tree = trees[0]
    assert tree.is_leaf.sum() == 9
    inner = np.flatnonzero(~tree.is_leaf)
    order = inner[np.argsort(tree.left[inner])]  # in the order of the cuts
    open_ = {0}
    full, _ = grow(ExactSplits(Columns(X), stats, SquaredError()), max_leaf_nodes=10)
    for node in order:
        assert tree.gain[node] == max(full.gain[k] for k in open_)
        open_ = (open_ - {node}) | {tree.left[node], tree.right[node]}


def test_limits():
    rng = np.random.default_rng(6)
    X, stats = rng.normal(size=(100, 2)), statistics("squared_error", 100, rng)

    def tree(limits, **options):
        return grow(ExactSplits(Columns(X), stats, SquaredError(), **options), **limits)

    grown, leaf = tree({"max_depth": 3})
    assert grown.depth.max() == 3
    assert tree({"max_depth": 0})[0].node_count == 1
    assert tree({}, min_samples_leaf=7)[0].count.min() >= 7
    inner = ~tree({}, min_samples_split=20)[0].is_leaf
    assert tree({}, min_samples_split=20)[0].count[inner].min() >= 20
    least = grown.gain[~grown.is_leaf].min()
    few = tree({"max_depth": 3, "min_gain": least})[0]
    assert few.gain[~few.is_leaf].min() > least
    assert few.node_count < grown.node_count
    assert leaf.min() >= 0


def test_a_constant_target_is_not_split():
    X = np.arange(6.0)[:, np.newaxis]
    stats = np.stack([np.ones(6), np.zeros(6)])
    finder = ExactSplits(Columns(X), stats, SquaredError(), target=np.zeros(6))
    assert grow(finder)[0].node_count == 1


@pytest.mark.parametrize("categories", [2, 5, 6])
@pytest.mark.parametrize("name", ["gini", "squared_error"])
def test_a_categorical_split_is_the_best_of_all_subsets(name, categories):
    rng = np.random.default_rng(7)
    criterion = CRITERIA[name][0]
    for _ in range(20):
        x = rng.integers(0, categories, 40).astype(float)
        if name == "gini":  # two classes
            stats = np.eye(2)[:, rng.integers(0, 2, 40)] * rng.uniform(0.5, 2, 40)
        else:
            stats = statistics(name, 40, rng)
        X = np.column_stack([x, np.zeros(40)])
        finder = ExactSplits(Columns(X, categorical=np.array([True, False])), stats,
                             criterion)
        splits = finder.best(finder.root())
        subsets = itertools.chain.from_iterable(
            itertools.combinations(range(categories), k) for k in range(1, categories)
        )
        score = criterion.score(stats.sum(axis=1))
        gains = [
            criterion.score(stats[:, left].sum(axis=1))
            + criterion.score(stats[:, ~left].sum(axis=1)) - score
            for left in (np.isin(x, subset) for subset in subsets)
            if left.any() and not left.all()
        ]
        assert splits.gain[0] == pytest.approx(max(gains))
        left = finder.send(finder.root(), splits)
        assert 0 < left.sum() < 40
        assert np.array_equal(left, splits.subset[0][x.astype(int)])


def test_categories_with_missing_values_and_in_deeper_nodes():
    rng = np.random.default_rng(8)
    x = rng.integers(0, 5, 200).astype(float)
    z = rng.normal(size=200) + np.array([0, 3, 0, 3, 6])[x.astype(int)]
    x[rng.random(200) < 0.2] = np.nan
    stats = np.stack([np.ones(200), z - z.mean()])
    columns = Columns(x[:, np.newaxis], categorical=np.array([True]))
    tree, leaf = grow(ExactSplits(columns, stats, SquaredError(), missing="ignore"),
                      max_leaf_nodes=3)
    np.testing.assert_array_equal(tree.apply(x[:, np.newaxis]), leaf)
    groups = {frozenset(np.unique(x[(leaf == k) & ~np.isnan(x)])) for k in set(leaf)}
    assert groups == {frozenset({0.0, 2.0}), frozenset({1.0, 3.0}), frozenset({4.0})}


def test_three_classes_are_ordered_along_their_first_principal_component():
    sums = np.array([[[8.0, 1.0, 4.0, 0.0]], [[1.0, 8.0, 4.0, 0.0]],
                     [[1.0, 1.0, 1.0, 0.0]]])
    order = np.argsort(category_scores(sums)[0])
    assert order[-1] == 3  # no row has it
    assert order[1] == 2  # between the two that differ most


@pytest.mark.parametrize("single", [False, True])
def test_a_cut_lies_between_its_neighbours(single):
    kind = np.float32 if single else np.float64
    rng = np.random.default_rng(9)
    low = rng.normal(size=1000).astype(kind)
    pairs = [
        (low, np.nextafter(low, kind(np.inf))),
        (low, low + rng.uniform(1e-6, 5, 1000).astype(kind)),
        (np.array([-np.finfo(kind).max, 1.6e38, 0.0], kind),
         np.array([np.finfo(kind).max, 1.7e38, np.finfo(kind).tiny], kind)),
    ]
    for a, b in pairs:
        cut = cut_between(a.astype(float), b.astype(float), single)
        assert (a <= cut).all() and (cut < b).all()
    assert cut_between(np.array([1.0]), np.array([2.0]))[0] == 1.5
    assert cut_between(np.array([1.0]), np.array([np.nan]))[0] == np.inf
    assert cut_between(np.array([np.nan]), np.array([1.0]))[0] == -np.inf


def test_two_large_values():
    cut = cut_between(np.array([1.6e308]), np.array([1.7e308]))
    assert cut[0] == pytest.approx(1.65e308)


@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_running_sums_begin_anew_in_every_node(s):
    rng = np.random.default_rng(10)
    stats, counts = rng.normal(size=(s, 20)), np.array([3, 1, 9, 7])
    order = rng.permutation(20)
    nodes = OpenNodes(order[np.newaxis], counts, np.empty((s, 4)))
    sums = running_sums(pack(stats), s, order, nodes)
    twice = OpenNodes(order[np.newaxis], np.tile(counts, 2), np.empty((s, 8)), 2)
    again = running_sums(pack(stats), s, np.tile(order, 2), twice)
    np.testing.assert_array_equal(again, np.tile(sums, 2))
    for start, count in zip(nodes.starts, counts, strict=True):
        at = slice(start, start + count)
        np.testing.assert_allclose(sums[:, at], np.cumsum(stats[:, order[at]], axis=1))


def test_best_in_segments():
    gain = np.array([1.0, 3.0, 3.0, -np.inf, -np.inf, 5.0, 2.0, 5.0])
    starts, counts = np.array([0, 3, 5]), np.array([3, 2, 3])
    for last, positions in ((False, [1, 3, 5]), (True, [2, 4, 7])):
        best, position = best_in_segments(gain, starts, counts, last)
        assert best.tolist() == [3, -np.inf, 5]
        assert position.tolist() == positions


def test_sort_within_is_stable_and_has_a_way_out_for_wide_keys():
    rng = np.random.default_rng(11)
    node = np.sort(rng.integers(0, 5, 300))
    for top in (4, 2**31 - 1, 2**60):
        key = rng.integers(0, top, 300)
        key[::7] = key[0]
        np.testing.assert_array_equal(sort_within(node, key), np.lexsort((key, node)))


def test_collapse_makes_leaves_and_says_where_nodes_went():
    rng = np.random.default_rng(12)
    X, stats = rng.normal(size=(80, 3)), statistics("squared_error", 80, rng)
    tree, leaf = grow(ExactSplits(Columns(X), stats, SquaredError()), max_depth=4)
    into_leaf = np.zeros(tree.node_count, dtype=bool)
    into_leaf[[tree.left[0], tree.right[tree.right[0]]]] = True
    small, where = tree.collapse(into_leaf)
    np.testing.assert_array_equal(small.apply(X), where[leaf])
    assert small.is_leaf.sum() == (~small.is_leaf).sum() + 1
    np.testing.assert_array_equal(small.parent[small.left[~small.is_leaf]],
                                  np.flatnonzero(~small.is_leaf))
    kept = np.unique(where, return_index=True)[1]
    np.testing.assert_array_equal(small.count, tree.count[kept])
    root_only, where = tree.collapse(np.ones(tree.node_count, dtype=bool))
    assert root_only.node_count == 1 and not where.any()


def test_a_midpoint_beyond_float32_is_no_cut_of_its_own():
    low, high = np.float32([[3.3e38], [3.4e38]])
    assert low <= cut_between(low, high, single=True) < high


@pytest.mark.parametrize("gap", [1e6, 1e9, 1e12])
def test_nodes_far_apart_are_cut_by_what_differs_within_them(gap):
    y = np.array([0.0, 0, 0, 0, 1, 1, gap, gap, gap, gap, gap + 1, gap + 1])
    X = np.column_stack([np.repeat([0.0, 1], 6), np.tile(np.arange(6.0), 2)])
    stats = np.stack([np.ones(12), y - y.mean()])
    tree, _ = grow(ExactSplits(Columns(X), stats, SquaredError()), max_leaf_nodes=4)
    assert tree.threshold[~tree.is_leaf].tolist() == [0.5, 3.5, 3.5]


def test_categories_of_three_classes_where_a_node_asks_for_another_feature():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 80).astype(float), rng.normal(size=80)])
    stats = np.eye(3)[:, rng.integers(0, 3, 80)]
    columns = Columns(X, categorical=np.array([True, False]))
    finder = ExactSplits(columns, stats, Gini(), max_features=1, rng=rng)
    tree, leaf = grow(finder)
    assert (np.bincount(leaf, minlength=tree.node_count)[tree.is_leaf] > 0).all()
    # every leaf is pure, or its rows cannot be told apart
    assert Gini().impurity(tree.sums[:, tree.is_leaf]).max() == 0


def test_equal_cuts_beside_a_feature_with_missing_values():
    """Of equal gains the first in the order of the scan wins, whoever stands beside."""
    X = np.array([[0.0, 5], [1, 5], [2, 5], [3, np.nan]])
    stats = np.stack([[1.0, -1, -1, 1], np.ones(4)])
    cuts = []
    for part in (X[:, :1], X):
        columns = Columns(part, presort=True, descending=True)
        finder = ExactSplits(columns, stats, Newton(1.0), single=True)
        cuts.append(finder.best(finder.root()).threshold[0])
    assert cuts[0] == cuts[1] == pytest.approx(2.5)
