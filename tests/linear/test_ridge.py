"""Ridge against scikit-learn, its stationarity, and its limits."""

from fractions import Fraction

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


def in_fractions(A, b, alpha):
    """(A'A + alpha I) w = A'b, by elimination, exactly; alpha > 0 needs no pivot."""
    A = [[Fraction(float(v)) for v in row] for row in A]
    b, d = [Fraction(float(v)) for v in b], len(A[0])
    rows = [
        [sum(r[i] * r[j] for r in A) + (i == j) * Fraction(alpha) for j in range(d)]
        + [sum(r[i] * v for r, v in zip(A, b))]
        for i in range(d)
    ]
    for i in range(d):
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(d):
            if k != i:
                rows[k] = [u - rows[k][i] * v for u, v in zip(rows[k], rows[i])]
    return np.array([float(row[-1]) for row in rows])


GRID = np.linspace(-1, 1, 9)
CURVE = np.sin(3 * GRID) + GRID**2
WAVE = np.cos(5 * GRID)
HEAVY_LAST = np.array([1, 1, 1, 1, 1, 1, 1, 1e-3, 1e12])
HARD = {
    "columns 1e15 apart": (np.column_stack([3e14 * GRID, GRID**2]), 1.0),
    "columns 1e40 apart": (np.column_stack([GRID, 1e40 * GRID**2]), 1e-3),
    "penalty 1e30": (X[:9], 1e30),
    "penalty 1e15": (X[:9], 1e15),
    "penalty 1e-30": (X[:9], 1e-30),
    "penalty as large as the columns": (X[:9], 20.0),
    "a column twice, penalty 1e-4": (np.column_stack([X, X])[:9], 1e-4),
    "a column twice, penalty 1e-10": (np.column_stack([X, X])[:9], 1e-10),
    "a column twice, penalty 1e-24": (np.column_stack([X, X])[:9], 1e-24),
    "a column twice, penalty 1e-40": (np.column_stack([X, X])[:9], 1e-40),
    "more columns than rows": (X[:3], 1e-12),
    "a penalty between the columns": (
        np.column_stack([1e10 * GRID, 1e-8 * GRID**2]),
        1e12,
    ),
    "a penalty between the columns, small one first": (
        np.column_stack([1e-8 * GRID**2, 1e10 * GRID]),
        1e12,
    ),
    "heavy row last": (
        np.column_stack([GRID, GRID**2, WAVE]) * HEAVY_LAST[:, np.newaxis],
        1.0,
    ),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_cases_as_in_fractions(case):
    """Every coefficient keeps nine digits, whatever its size."""
    A, alpha = HARD[case]
    exact = in_fractions(A, CURVE[: len(A)], alpha)
    w = solve_ridge(A, CURVE[: len(A)], alpha)
    np.testing.assert_allclose(w, exact, rtol=1e-9)


LOST = {
    "nearly dependent columns beside a small one": (
        np.column_stack([1e15 * GRID, 1e15 * (GRID + 1e-4 * WAVE), GRID**2]),
        1.0,
    ),
    "the same, small one first": (
        np.column_stack([GRID**2, 3e14 * GRID, 3e14 * (GRID + 1e-5 * WAVE)]),
        1.0,
    ),
    "a column twice beside a small one": (
        np.column_stack([1e15 * GRID, 1e15 * GRID, GRID**2]),
        1e12,
    ),
    "two columns twice, 1e15 apart": (
        np.column_stack([1e15 * GRID, 1e15 * GRID, GRID**2, GRID**2, WAVE]),
        1e-4,
    ),
    "squares beyond float64": (
        np.column_stack([1e200 * GRID, 1e200 * (GRID + 1e-4 * WAVE), 1e-80 * GRID**2]),
        1e-160,
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_dependent_columns_beside_much_smaller_ones_are_refused(case):
    columns, alpha = LOST[case]
    with pytest.raises(ValueError, match="Scale the features to similar sizes"):
        solve_ridge(columns, CURVE, alpha)


def test_rank_is_judged_by_the_larger_side():
    """Rank 3 in 2000 rows: the rounding of 2000 terms is no fourth direction."""
    rng = np.random.default_rng(12)
    A = rng.normal(size=(2000, 3))
    A, b = np.column_stack([A, A @ rng.normal(size=(3, 3))]), rng.normal(size=2000)
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(solve_ridge(A, b, 0.0), expected, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(
    ("A", "b"),
    [
        (np.empty((0, 2)), np.empty(0)),
        (np.empty((2, 0)), np.ones(2)),
        (np.ones((3, 2)), np.ones(2)),
        (np.ones(3), np.ones(3)),
        (np.ones((3, 2)), 1.0),
        (np.ones((3, 2)), np.ones((3, 1, 1))),
    ],
)
def test_solve_ridge_says_which_shapes_it_takes(A, b, alpha):
    with pytest.raises(ValueError, match=r"A must have shape \(n, d\) with n and d"):
        solve_ridge(A, b, alpha)


@pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")
def test_columns_of_unequal_scale_as_scikit_learn():
    A = np.column_stack([3e14 * GRID, GRID**2])
    ours = Ridge(1.0).fit(A, CURVE)
    theirs = sklearn.linear_model.Ridge(1.0, solver="cholesky").fit(A, CURVE)
    assert abs(ours.coef_[1]) > 0.1
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_no_penalty_drops_what_rounding_hides():
    """Without a penalty a direction below rounding gives the shortest w, not 1e15."""
    A = np.column_stack([GRID, GRID * (1 + 1e-16), GRID**2])
    expected = np.linalg.lstsq(A, CURVE, rcond=None)[0]
    np.testing.assert_allclose(solve_ridge(A, CURVE, 0.0), expected, rtol=1e-12)
    # so a column far below the others is dropped, as NumPy drops it
    A = np.column_stack([1e20 * GRID, GRID**2])
    expected = np.linalg.lstsq(A, CURVE, rcond=None)[0]
    np.testing.assert_allclose(solve_ridge(A, CURVE, 0.0), expected, atol=1e-12)
    assert solve_ridge(np.zeros((3, 2)), np.ones(3), 0.0).tolist() == [0.0, 0.0]
    assert solve_ridge(np.zeros((3, 2)), np.ones(3), 2.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("alpha", [0.0, 2.0, 1e6])
def test_many_problems_at_once(alpha):
    targets = rng.normal(size=(25, 3))
    together = solve_ridge(X, targets, alpha)
    for k in range(3):
        alone = solve_ridge(X, targets[:, k], alpha)
        np.testing.assert_allclose(together[:, k], alone)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_units(scale, alpha):
    """X in another unit: w by the inverse, if the penalty is in the unit's square."""
    plain = Ridge(alpha).fit(X, y)
    scaled = Ridge(alpha * scale**2).fit(scale * X, y)
    np.testing.assert_allclose(scale * scaled.coef_, plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(scaled.predict(scale * X), plain.predict(X), rtol=1e-10)


@pytest.mark.filterwarnings("error")
def test_what_does_not_fit_into_a_float_is_refused():
    with pytest.raises(ValueError, match="does not fit into float64: express X and y"):
        Ridge(1.0).fit(1.7e308 * GRID[:, np.newaxis], CURVE)
    with pytest.raises(ValueError, match="the centred X does not fit"):
        Ridge(1.0).fit([[1.5e308], [1.6e308], [1.7e308]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="the centred y does not fit"):
        Ridge(1.0).fit([[1.0], [2.0], [3.0]], [1.5e308, 1.6e308, 1.7e308])
    with pytest.raises(ValueError, match="the intercept does not fit"):
        Ridge(0.0).fit([[1e160], [2e160]], [-8e307, 8e307])
    with pytest.raises(ValueError, match="a coefficient does not fit"):
        Ridge(0.0).fit(1e-200 * GRID[:, np.newaxis], 1e200 * GRID)
    steep = Ridge(0.0).fit(GRID[:, np.newaxis], 1e300 * GRID)
    with pytest.raises(ValueError, match="a prediction does not fit"):
        steep.predict([[1e100]])


@pytest.mark.parametrize(
    ("alpha", "error"),
    [
        (-1.0, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        ("1", TypeError),
        (True, TypeError),
    ],
)
def test_bad_alpha(alpha, error):
    with pytest.raises(error, match="alpha must be .*, got"):
        Ridge(alpha).fit(X, y)
    with pytest.raises(error, match="alpha must be .*, got"):
        solve_ridge(X, y, alpha)


def test_a_constant_feature_has_no_weight_even_without_a_penalty():
    y = np.arange(15.0) ** 2
    for X in (np.full((15, 1), 0.1), np.column_stack([np.full(15, 2026.3), y])):
        model = Ridge(0.0).fit(X, y)
        assert model.coef_[0] == 0
        np.testing.assert_allclose(model.intercept_ + X[:, 1:] @ model.coef_[1:],
                                   y if X.shape[1] == 2 else y.mean(), atol=1e-9)
