"""Histograms: bins, and the same trees as the exact finder where bins lose nothing."""

from __future__ import annotations

import numpy as np
import pytest

from mlbook.ensembles.criteria import Gini, Newton, SquaredError
from mlbook.ensembles.histogram import BinnedColumns, HistogramSplits, bin_edges
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import grow


# a histogram offers no cut that gains nothing
LIMITS = [{"max_depth": 3, "min_gain": 1e-9}, {"max_leaf_nodes": 13, "min_gain": 1e-9}]


def gradients(n, rng):
    return np.stack([rng.normal(size=n), rng.uniform(0.1, 1, n)])


def test_few_values_have_a_bin_each():
    x = np.array([3.0, 1.0, 1.0, 7.0, np.nan, 3.0])
    edges = bin_edges(x[:, np.newaxis], max_bin=3)[0]
    assert edges.tolist() == [2.0, 5.0]
    code = BinnedColumns(x[:, np.newaxis], [edges]).code[0]
    assert code.tolist() == [1, 0, 0, 2, 3, 1]


def test_many_values_are_spread_evenly():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=10_000)
    edges = bin_edges(x[:, np.newaxis], max_bin=16)[0]
    assert len(edges) == 15
    filled = np.bincount(BinnedColumns(x[:, np.newaxis], [edges]).code[0])
    assert filled.min() >= 620 and filled.max() <= 630


def test_one_heavy_value_takes_one_bin():
    x = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    edges = bin_edges(x[:, np.newaxis], max_bin=8)[0]
    code = BinnedColumns(x[:, np.newaxis], [edges]).code[0]
    assert 5 <= len(edges) <= 7
    assert (code[:900] == 0).all() and (code[900:] > 0).all()
    assert np.bincount(code[900:])[1:].max() <= 20


def test_values_whose_difference_overflows():
    assert bin_edges(np.array([[1.7e308], [-1.7e308]]))[0].tolist() == [0.0]


def test_constant_and_empty_features_have_one_bin():
    X = np.column_stack([np.ones(5), np.full(5, np.nan)])
    assert [len(edges) for edges in bin_edges(X)] == [0, 0]
    columns = BinnedColumns(X, bin_edges(X))
    rng = np.random.default_rng(0)
    tree, _ = grow(HistogramSplits(columns, gradients(5, rng), Newton(1.0)))
    assert tree.node_count == 1


def test_a_wrong_number_of_edges():
    with pytest.raises(ValueError, match="each of the 2 features, got 1"):
        BinnedColumns(np.zeros((3, 2)), [np.zeros(0)])


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", ["newton", "squared error", "gini"])
def test_the_trees_are_those_of_the_exact_finder(missing, limits, name):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (400, 5)) / 4
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, 3] = rng.integers(0, 40, 400)  # one feature stays complete
    if name == "newton":
        criterion, stats = Newton(0.5, min_child_weight=2.0), gradients(400, rng)
    elif name == "gini":
        criterion, stats = Gini(), np.eye(3)[:, rng.integers(0, 3, 400)]
    else:
        w = rng.uniform(0.5, 2, 400)
        y = rng.normal(size=400) + np.nan_to_num(X[:, 0])  # splits in the middle
        criterion, stats = SquaredError(), np.stack([w, w * y])
    exact, leaf = grow(ExactSplits(Columns(X, True), stats, criterion), **limits)
    finder = HistogramSplits(BinnedColumns(X, bin_edges(X)), stats, criterion)
    binned, binned_leaf = grow(finder, **limits)
    np.testing.assert_array_equal(binned.feature, exact.feature)
    np.testing.assert_allclose(binned.gain, exact.gain, atol=1e-9)
    np.testing.assert_allclose(binned.sums, exact.sums, atol=1e-9)
    np.testing.assert_array_equal(binned.count, exact.count)
    np.testing.assert_array_equal(binned_leaf, leaf)
    np.testing.assert_array_equal(binned.apply(X), leaf)


def test_the_last_level_needs_no_histograms():
    rng = np.random.default_rng(2)
    X, stats = rng.normal(size=(300, 4)), gradients(300, rng)
    columns = BinnedColumns(X, bin_edges(X, 32))
    made = []

    class Counting(HistogramSplits):
        def _histogram(self, rows, node, m):
            made.append(m)
            return super()._histogram(rows, node, m)

    tree, _ = grow(Counting(columns, stats, Newton(1.0)), max_depth=3)
    assert len(made) == 3  # the root's, and those of two levels
    wide, _ = grow(HistogramSplits(columns, stats, Newton(1.0)), max_depth=4)
    np.testing.assert_array_equal(tree.sums, wide.sums[:, : tree.node_count])


def test_a_sample_of_rows_and_of_features():
    rng = np.random.default_rng(3)
    X, stats = rng.integers(0, 30, (300, 4)).astype(float), gradients(300, rng)
    rows = np.sort(rng.choice(300, 120, replace=False))
    allowed = np.array([True, False, True, False])
    columns = BinnedColumns(X, bin_edges(X))
    finder = HistogramSplits(columns, stats, Newton(1.0), rows=rows, features=allowed)
    tree, leaf = grow(finder, max_depth=4, min_gain=1e-9)
    some = ExactSplits(Columns(X[rows][:, allowed], True), stats[:, rows], Newton(1.0))
    exact, exact_leaf = grow(some, max_depth=4, min_gain=1e-9)
    np.testing.assert_array_equal(leaf[rows], exact_leaf)
    assert (np.delete(leaf, rows) == -1).all()
    inner = ~tree.is_leaf
    np.testing.assert_array_equal(tree.feature[inner] // 2, exact.feature[inner])


def test_more_than_256_bins_and_feature_blocks():
    rng = np.random.default_rng(4)
    X, stats = rng.normal(size=(3000, 30)), gradients(3000, rng)
    criterion = Newton(1.0, min_child_weight=20)  # no ties in tiny nodes
    columns = BinnedColumns(X, bin_edges(X, 5000))
    assert columns.code.dtype == np.uint16
    binned, leaf = grow(HistogramSplits(columns, stats, criterion),
                        max_depth=4, min_gain=1e-9)
    exact, exact_leaf = grow(ExactSplits(Columns(X, True), stats, criterion),
                             max_depth=4, min_gain=1e-9)
    np.testing.assert_array_equal(leaf, exact_leaf)


def test_edges_of_another_shape():
    X = np.arange(6.0).reshape(3, 2)
    for edges, got in (([[0.5]], "1"), (5, "5")):
        with pytest.raises(ValueError, match=f"each of the 2 features, got {got}"):
            BinnedColumns(X, edges)


def test_more_bins_than_16_bits_can_number():
    edges = np.arange(70_000.0)
    codes = BinnedColumns(np.array([[-1.0], [69_998.5], [np.nan]]), [edges]).code
    assert codes.tolist() == [[0, 69_999, 70_001]]
