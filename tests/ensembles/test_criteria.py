"""Criteria: scores against the definitions, written out for one node at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlbook.ensembles.criteria import (
    Entropy,
    Gini,
    Misclassification,
    Newton,
    SquaredError,
)

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 9, (3, 40)).astype(float)
COUNTS[:, 0] = (5, 0, 0)  # a pure node


def gini(p):
    return sum(share * (1 - share) for share in p)


def entropy(p):
    return -sum(share * math.log2(share) for share in p if share > 0)


def error(p):
    return 1 - max(p)


@pytest.mark.parametrize(
    ("criterion", "definition"),
    [(Gini(), gini), (Entropy(), entropy), (Misclassification(), error)],
)
def test_a_score_is_minus_the_weight_times_the_impurity_up_to_the_weight(
    criterion, definition
):
    impurity = np.array([definition(c / c.sum()) for c in COUNTS.T])
    weight = COUNTS.sum(axis=0)
    np.testing.assert_allclose(criterion.impurity(COUNTS), impurity, atol=1e-15)
    difference = criterion.score(COUNTS) + weight * impurity
    constant = 0 if isinstance(criterion, Entropy) else weight
    np.testing.assert_allclose(difference, constant, atol=1e-12)


@pytest.mark.parametrize("criterion", [Gini(), Entropy(), Misclassification()])
def test_an_empty_node_scores_nothing(criterion):
    assert criterion.score(np.zeros((3, 1))) == 0
    assert np.isfinite(criterion.impurity(np.zeros((3, 1)))).all()


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_ends_of_the_ranges(n_classes):
    even, pure = np.full(n_classes, 4.0), np.eye(n_classes)[0]
    assert Gini().impurity(even) == pytest.approx(1 - 1 / n_classes)
    assert Entropy().impurity(even) == pytest.approx(math.log2(n_classes))
    assert Misclassification().impurity(even) == pytest.approx(1 - 1 / n_classes)
    for criterion in (Gini(), Entropy(), Misclassification()):
        assert criterion.impurity(pure) == 0


def test_the_squared_error_that_is_left():
    w, y = RNG.uniform(0.5, 2, 30), RNG.normal(size=30)
    sums = np.array([w.sum(), w @ y])
    rest = w @ (y - np.average(y, weights=w)) ** 2
    assert w @ y**2 - SquaredError().score(sums) == pytest.approx(rest)


@pytest.mark.parametrize("reg_lambda", [0.0, 0.1, 3.0])
def test_the_second_order_score_is_twice_the_drop_of_the_parabola(reg_lambda):
    newton = Newton(reg_lambda)
    sums = np.array([[-3.0, 2.0, 0.0], [1.5, 0.25, 2.0]])
    G, H = sums
    w = newton.leaf_value(sums)
    parabola = G * w + (H + reg_lambda) * w**2 / 2
    np.testing.assert_allclose(newton.score(sums), -2 * parabola)
    for step in (-1e-3, 1e-3):
        other = G * (w + step) + (H + reg_lambda) * (w + step) ** 2 / 2
        assert (other > parabola).all()


def test_a_leaf_without_curvature_and_penalty_stays_at_0():
    newton = Newton(0.0)
    sums = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 4.0]])
    np.testing.assert_array_equal(newton.score(sums), [0, 0, 1])
    np.testing.assert_array_equal(newton.leaf_value(sums), [0, 0, -0.5])


def test_the_least_weight_of_a_child():
    newton = Newton(1.0, min_child_weight=2.0)
    sums = np.array([[1.0, 1.0], [2.0, 1.9]])
    assert newton.allowed(sums).tolist() == [True, False]


def test_rounding_residues_score_no_more_than_they_weigh():
    # what a difference of sums leaves of rows that weigh nothing
    residues = np.array([1e-16, -1e-16, 1e-30])
    assert 0 <= Gini().score(residues) <= 2e-16
