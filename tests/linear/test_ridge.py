"""Ridge against scikit-learn, its stationarity, and its limits."""

import numpy as np
import pytest
import sklearn.linear_model

from mlbook.linear.ridge import Ridge, solve_ridge

rng = np.random.default_rng(0)
X = rng.normal(2.0, 1.0, size=(25, 4))
y = X @ [1.0, -2.0, 0.0, 0.5] + 3 + rng.normal(size=25)
WEIGHT = rng.uniform(0.1, 3, size=25)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_as_scikit_learn(alpha, weight):
    ours = Ridge(alpha).fit(X, y, sample_weight=weight)
    theirs = sklearn.linear_model.Ridge(alpha).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-10)


def test_gradient_vanishes_and_the_intercept_is_not_penalised():
    model = Ridge(7.0).fit(X, y + 1e4, sample_weight=WEIGHT)
    residual = WEIGHT * (y + 1e4 - model.predict(X))
    np.testing.assert_allclose(X.T @ residual, 7.0 * model.coef_, atol=1e-7)
    assert residual.sum() == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(
        model.coef_, Ridge(7.0).fit(X, y, sample_weight=WEIGHT).coef_, rtol=1e-9
    )


def test_by_hand():
    """x = -1, 1 and y = 0, 4: slope 4 / (2 + alpha), intercept 2."""
    model = Ridge(2.0).fit([[-1.0], [1.0]], [0.0, 4.0])
    assert model.coef_ == pytest.approx([1.0])
    assert model.intercept_ == pytest.approx(2.0)


def test_no_penalty_is_least_squares_and_the_shortest_one_where_many_fit():
    augmented = np.column_stack([X, np.ones(25)])
    expected = np.linalg.lstsq(augmented, y, rcond=None)[0]
    model = Ridge(0.0).fit(X, y)
    np.testing.assert_allclose([*model.coef_, model.intercept_], expected)
    doubled = Ridge(0.0).fit(np.column_stack([X, X]), y)
    np.testing.assert_allclose(doubled.coef_, np.tile(model.coef_ / 2, 2))


def test_large_penalty_leaves_the_mean():
    np.testing.assert_allclose(Ridge(1e15).fit(X, y).predict(X), y.mean(), rtol=1e-10)


def test_nearly_collinear_columns_keep_their_digits():
    """Exact: columns c and c + h z, y the second column, alpha -> 0."""
    c, z = np.array([1.0, -1, 1, -1]), np.array([1.0, 1, -1, -1])
    columns = np.column_stack([c, c + 1e-7 * z])
    coefficients = Ridge(1e-25).fit(columns, columns[:, 1]).coef_
    np.testing.assert_allclose(coefficients, [0.0, 1.0], atol=1e-7)


def test_many_problems_at_once():
    targets = rng.normal(size=(25, 3))
    together = solve_ridge(X, targets, 2.0)
    for k in range(3):
        alone = solve_ridge(X, targets[:, k], 2.0)
        np.testing.assert_allclose(together[:, k], alone)


@pytest.mark.parametrize(
    ("alpha", "error"),
    [(-1.0, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("1", TypeError)],
)
def test_bad_alpha(alpha, error):
    with pytest.raises(error, match="alpha must be .*, got"):
        Ridge(alpha).fit(X, y)
