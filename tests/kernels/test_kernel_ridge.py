"""Kernel ridge held to scikit-learn, to ridge on written-out features, to refits."""

from fractions import Fraction

import numpy as np
import pytest
import sklearn.kernel_ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from mlbook.kernels.kernel_functions import (
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    gram,
)
from mlbook.kernels.kernel_ridge import (
    KernelRidge,
    loo_residuals,
    solve_kernel_ridge,
)
from mlbook.linear.ridge import solve_ridge

rng = np.random.default_rng(5)
X = rng.normal(size=(30, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=30)
NEW = rng.normal(size=(11, 3))
WEIGHT = rng.uniform(0.1, 4, size=30)
HOURS = np.sort(np.random.default_rng(2).uniform(0, 48, 40))[:, None]
LEVEL = np.sin(HOURS[:, 0])

KERNELS = {
    "linear": (Linear(), {"kernel": "linear"}),
    "polynomial": (
        Polynomial(3, gamma=0.5),
        {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1},
    ),
    "gaussian": (Gaussian(0.7), {"kernel": "rbf", "gamma": 0.7}),
    "laplacian": (Laplacian(0.3), {"kernel": "laplacian", "gamma": 0.3}),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_as_scikit_learn(name, alpha, weight):
    kernel, options = KERNELS[name]
    ours = KernelRidge(alpha, kernel).fit(X, y, weight)
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=alpha, **options)
    theirs.fit(X, y, sample_weight=weight)
    scale = np.abs(theirs.dual_coef_).max()
    np.testing.assert_allclose(
        ours.dual_coef_, theirs.dual_coef_, rtol=1e-10, atol=1e-10 * scale
    )
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), atol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_leave_one_out_is_what_thirty_refits_give(name, alpha):
    kernel, options = KERNELS[name]
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=alpha, **options)
    refits = y - cross_val_predict(theirs, X, y, cv=LeaveOneOut())
    model = KernelRidge(alpha, kernel).fit(X, y)
    scale = np.abs(refits).max()
    np.testing.assert_allclose(model.loo_residuals(), refits, atol=1e-10 * scale)
    error = model.leave_one_out_error()
    assert error == pytest.approx(np.mean(refits**2), rel=1e-9)


def test_weighted_leave_one_out_is_what_refits_give():
    model = KernelRidge(0.3, Gaussian(0.5)).fit(X, y, WEIGHT)
    refits = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        part = KernelRidge(0.3, Gaussian(0.5)).fit(X[rest], y[rest], WEIGHT[rest])
        refits.append(y[i] - part.predict(X[[i]])[0])
    np.testing.assert_allclose(model.loo_residuals(), refits, atol=1e-10)
    expected = np.average(np.square(refits), weights=WEIGHT)
    assert model.leave_one_out_error() == pytest.approx(expected, rel=1e-10)


def test_leave_one_out_is_the_residual_over_one_minus_the_leverage():
    K = gram(Gaussian(0.7), X)
    hat = K @ np.linalg.inv(K + 0.4 * np.eye(30))
    beta = solve_kernel_ridge(K, y, 0.4)
    expected = (y - hat @ y) / (1 - np.diag(hat))
    np.testing.assert_allclose(loo_residuals(K, beta, 0.4), expected, rtol=1e-9)


def test_linear_and_quadratic_kernel_are_ridge_on_their_features():
    """The push-through identity: w = (F'F + alpha I)^-1 F'y = F' beta."""
    pairs = [X[:, a] * X[:, b] * np.sqrt(2 - (a == b))
             for a in range(3) for b in range(a, 3)]
    squares = np.column_stack([*pairs, np.sqrt(2) * X, np.ones(30)])
    for kernel, features in [(Linear(), X), (Polynomial(2), squares)]:
        model = KernelRidge(0.6, kernel).fit(X, y)
        w = solve_ridge(features, y, 0.6)
        np.testing.assert_allclose(features.T @ model.dual_coef_, w, atol=1e-10)
        np.testing.assert_allclose(model.predict(X), features @ w, atol=1e-10)


def test_optimality_conditions():
    """The residual of row i is alpha beta_i / s_i, and no step improves."""
    kernel, alpha = Gaussian(0.7), 0.2
    K = gram(kernel, X)
    model = KernelRidge(alpha, kernel).fit(X, y, WEIGHT)
    beta = model.dual_coef_
    np.testing.assert_allclose(y - model.predict(X), alpha * beta / WEIGHT, atol=1e-10)

    def objective(b):
        return WEIGHT @ (y - K @ b) ** 2 + alpha * b @ K @ b

    least = objective(beta)
    steps = np.random.default_rng(6).normal(size=(20, 30))
    for step in steps:
        assert objective(beta + 0.01 * step) > least


def test_by_hand():
    """x = 0, 1, 2 and y = 1, 1, 4, the plain inner product, alpha = 1: w = 3/2."""
    points, targets = [[0.0], [1.0], [2.0]], [1.0, 1.0, 4.0]
    model = KernelRidge(1.0, Linear()).fit(points, targets)
    np.testing.assert_allclose(model.dual_coef_, [1, -0.5, 1], rtol=1e-14)
    np.testing.assert_allclose(model.predict([[1.0], [10.0]]), [1.5, 15])
    np.testing.assert_allclose(model.loo_residuals(), [1, -0.6, 3])
    assert model.leave_one_out_error() == pytest.approx((1 + 0.36 + 9) / 3)


def test_equal_weights_and_alpha_cancel():
    doubled = KernelRidge(1.0, Gaussian()).fit(X, y, np.full(30, 2.0))
    halved = KernelRidge(0.5, Gaussian()).fit(X, y)
    np.testing.assert_allclose(doubled.predict(NEW), halved.predict(NEW), rtol=1e-11)


def test_tiny_weights_are_as_good_as_none():
    weight = np.ones(30)
    weight[:3] = 1e-200
    model = KernelRidge(0.1, Gaussian()).fit(X, y, weight)
    without = KernelRidge(0.1, Gaussian()).fit(X[3:], y[3:])
    assert model.loo_residuals().shape == (30,)
    np.testing.assert_allclose(model.predict(NEW), without.predict(NEW), rtol=1e-11)
    np.testing.assert_allclose(
        model.loo_residuals()[:3], (y - without.predict(X))[:3], rtol=1e-9
    )


def test_rows_of_weight_0_are_not_left_out():
    weight = np.ones(30)
    weight[:3] = 0
    model = KernelRidge(0.1, Gaussian()).fit(X, y, weight)
    np.testing.assert_array_equal(model.X_fit_, X[3:])
    without = KernelRidge(0.1, Gaussian()).fit(X[3:], y[3:])
    np.testing.assert_array_equal(model.loo_residuals(), without.loo_residuals())


def test_a_huge_weight_is_a_condition():
    weight = np.ones(30)
    weight[4] = 1e18
    model = KernelRidge(0.1, Gaussian()).fit(X, y, weight)
    assert model.predict(X[[4]])[0] == pytest.approx(y[4], rel=1e-12)
    rest = np.arange(30) != 4
    without = KernelRidge(0.1, Gaussian()).fit(X[rest], y[rest])
    left_out = y[4] - without.predict(X[[4]])[0]
    assert model.loo_residuals()[4] == pytest.approx(left_out, rel=1e-10)


@pytest.mark.parametrize("small", [1e-20, 5e-324])
def test_weights_do_not_matter_at_alpha_0(small):
    weight = np.ones(30)
    weight[4] = small
    model = KernelRidge(0, Gaussian(1.0)).fit(X, y, weight)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


@pytest.mark.parametrize("far", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("row", [0, 29])
def test_one_far_row(far, row):
    """The scale of a row costs no digits (measured: 7e-15).

    Ridge on the features in exact arithmetic, by fractions.
    """
    own = X.copy()
    own[row] *= far
    exact = [[Fraction(value) for value in line] for line in own.tolist()]
    system = [[sum(line[a] * line[b] for line in exact) + (a == b) for b in range(3)]
              for a in range(3)]
    right = [sum(line[a] * Fraction(target) for line, target in zip(exact, y.tolist()))
             for a in range(3)]
    w = np.array([float(value) for value in _solve_exactly(system, right)])
    model = KernelRidge(1.0, Linear()).fit(own, y)
    np.testing.assert_allclose(model.predict(NEW), NEW @ w, atol=1e-12)


def _solve_exactly(A, b):
    """Gauss and Jordan's elimination, which needs no back substitution."""
    A, n = [[*line, value] for line, value in zip(A, b)], len(b)
    for k in range(n):
        for i in range(n):
            if i != k:
                factor = A[i][k] / A[k][k]
                A[i] = [p - factor * q for p, q in zip(A[i], A[k])]
    return [A[k][n] / A[k][k] for k in range(n)]


def test_both_ends_of_alpha():
    kernel = Gaussian(1.0)
    np.testing.assert_allclose(
        KernelRidge(0, kernel).fit(X, y).predict(X), y, atol=1e-9
    )
    large = KernelRidge(1e9, kernel).fit(X, y)
    np.testing.assert_allclose(large.predict(NEW), 0, atol=1e-7)
    np.testing.assert_allclose(1e9 * large.dual_coef_, y, rtol=1e-6)


def test_constant_in_the_kernel_is_an_intercept():
    shifted = KernelRidge(0.5, Gaussian() + 1e8).fit(X, y + 50)
    centred = KernelRidge(0.5, Gaussian() + 1e8).fit(X, y)
    np.testing.assert_allclose(shifted.predict(NEW), centred.predict(NEW) + 50,
                               atol=1e-4)
    assert abs(shifted.dual_coef_.sum()) < 1e-4


def test_large_constant_gives_the_least_squares_support_vector_machine():
    """Its system has one more row, sum_i beta_i = 0, for the free intercept."""
    labels = np.sign(y)
    bordered = np.ones((31, 31))
    bordered[0, 0] = 0
    bordered[1:, 1:] = gram(Gaussian(0.7), X) + 0.5 * np.eye(30)
    expected = np.linalg.solve(bordered, np.append(0, labels))[1:]
    model = KernelRidge(0.5, Gaussian(0.7) + 1e6).fit(X, labels)
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-6)


def test_default_kernel_is_gaussian_of_the_data_width():
    model = KernelRidge().fit(X, y)
    assert model.kernel_.gamma == pytest.approx(1 / (3 * X.var()))
    counts = np.random.default_rng(7).integers(0, 4, 30)
    gamma = KernelRidge().fit(X, y, counts).kernel_.gamma
    assert gamma == pytest.approx(1 / (3 * np.repeat(X, counts, axis=0).var()))


def test_alpha():
    assert KernelRidge().alpha == sklearn.kernel_ridge.KernelRidge().alpha
    assert type(KernelRidge(np.float32(0.1)).fit(X, y).alpha_) is float


def test_repeated_rows():
    twice, targets = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    targets[1::2] += 0.4
    model = KernelRidge(0.2, Gaussian(1.0)).fit(twice, targets)
    mean = KernelRidge(0.1, Gaussian(1.0)).fit(X, y + 0.2)
    np.testing.assert_allclose(model.predict(NEW), mean.predict(NEW), rtol=1e-9)
    with pytest.raises(ValueError, match=r"K \+ alpha I .* alpha, remove repeated"):
        KernelRidge(0, Gaussian(1.0)).fit(twice, targets)
    weight = np.tile([1e18, 1.0], 30)
    KernelRidge(0.2, Gaussian(1.0)).fit(twice, targets, weight)  # one of each counts
    weight[1] = 1e18
    with pytest.raises(ValueError, match=r"S\^-1 .* lower the largest weights, rem"):
        KernelRidge(0.2, Gaussian(1.0)).fit(twice, targets, weight)


@pytest.mark.parametrize(
    ("kernel", "alpha"),
    [
        (Gaussian(1e-9), 1e-16),
        (Linear(), 0),
        (Sigmoid(coef0=-1.0), 1e-3),
        (1e30 * Linear(), 1.0),
    ],
)
def test_unsolvable_systems_are_refused_and_not_guessed(kernel, alpha):
    with pytest.raises(ValueError, match="not positive definite to working precision"):
        KernelRidge(alpha, kernel).fit(X, y)


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_what_rounding_left_is_refused_in_every_unit(unit):
    """Solved to 60 digits, beta is off by 5e-5 at 1e-11, by 12 % at 3e-15."""
    KernelRidge(1e-11 * unit, unit * Gaussian(0.05)).fit(HOURS, LEVEL)
    for alpha in (3e-15, 1e-15):
        with pytest.raises(ValueError, match="working precision"):
            KernelRidge(alpha * unit, unit * Gaussian(0.05)).fit(HOURS, LEVEL)


def test_the_smallest_pivot_that_is_kept():
    """Two rows leave the pivot 1 - r^2: kept above 1e3 n eps = 4.4e-13."""
    for pivot, kept in [(6e-13, True), (3e-13, False)]:
        r = np.sqrt(1 - pivot)
        K = np.array([[4.0, 2e9 * r], [2e9 * r, 1e18]])
        if kept:
            beta = solve_kernel_ridge(K, np.array([1.0, 0.0]), 0.0)
            assert beta[0] == pytest.approx(1 / (4 * pivot), rel=1e-2)
        else:
            with pytest.raises(ValueError, match="working precision"):
                solve_kernel_ridge(K, np.array([1.0, 0.0]), 0.0)


def test_a_kernel_that_is_none_may_be_fitted_to_a_saddle():
    """The Hessian is 2 K (K + alpha I): negative where -alpha < eigenvalue < 0."""
    points, targets = np.array([[0.0], [1.0]]), np.array([1.0, 0.0])
    kernel = Sigmoid(1.0, -1.0)
    K = gram(kernel, points)
    beta = KernelRidge(2.0, kernel).fit(points, targets).dual_coef_
    np.testing.assert_allclose(K @ (K @ beta + 2 * beta - targets), 0, atol=1e-14)
    down = np.linalg.eigh(K)[1][:, 0]

    def objective(b):
        return np.sum((targets - K @ b) ** 2) + 2 * b @ K @ b

    assert objective(beta + 10 * down) < objective(beta) - 90


@pytest.mark.parametrize(
    ("alpha", "kernel", "size"),
    [(1e-8, Gaussian(0.1), 1e305), (1e-310, 1e-310 * Gaussian(), 1.0)],
)
@pytest.mark.filterwarnings("error")
def test_coefficients_that_overflow_are_refused(alpha, kernel, size):
    with pytest.raises(ValueError, match="beta overflows: scale y, or raise alpha"):
        KernelRidge(alpha, kernel).fit(X, size * y)


@pytest.mark.filterwarnings("error")
def test_extreme_weights():
    heavy = KernelRidge(1.0, 1e10 * Gaussian()).fit(X, y, np.full(30, 1e300))
    np.testing.assert_allclose(heavy.predict(X), y, atol=1e-12)
    weight = np.ones(30)
    weight[4] = 5e-324
    light = KernelRidge(0.1, Gaussian()).fit(X, y, weight)
    assert light.dual_coef_[4] == 0
    with pytest.raises(ValueError, match="set the smallest weights to 0"):
        light.loo_residuals()


@pytest.mark.parametrize(
    ("column", "weight", "message"),
    [
        (np.ones(1), None, r"expected 30 numbers .* shapes \(1,\)"),
        (np.ones((30, 30)), None, r"got shapes \(30, 30\)"),
        (y, np.ones(29), r"and \(29,\)"),
        (y, np.append(np.ones(29), 0.0), "weights must be > 0"),
        (y, np.append(np.ones(29), np.nan), "weights must be > 0"),
    ],
)
def test_bad_systems(column, weight, message):
    K = gram(Gaussian(0.7), X)
    for function in (solve_kernel_ridge, loo_residuals):
        with pytest.raises(ValueError, match=message):
            function(K, column, 1.0, weight)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": -1}, ValueError, "alpha must be finite and >= 0, got -1"),
        ({"alpha": np.nan}, ValueError, "alpha must be finite"),
        ({"alpha": "1"}, TypeError, "alpha must be a number"),
        ({"kernel": "rbf"}, TypeError, "kernel must be a kernel object"),
        ({"kernel": Gaussian(-1)}, ValueError, "gamma must be"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelRidge(**parameters).fit(X, y)


def test_not_fitted():
    for use in (KernelRidge().loo_residuals, KernelRidge().leave_one_out_error):
        with pytest.raises(ValueError, match="not fitted yet"):
            use()


def test_leave_one_out_belongs_to_what_was_fitted():
    """Later changes of the parameters or of the data do not reach the model."""
    own, weight = X.copy(), np.ones(30)
    kernel = Gaussian(0.7)
    model = KernelRidge(0.5, kernel).fit(own, y, weight)
    before = model.loo_residuals()
    own[:] = 0
    weight[:] = 7
    model.set_params(alpha=9.0, kernel__gamma=3.0)
    np.testing.assert_array_equal(model.loo_residuals(), before)
    np.testing.assert_allclose(
        KernelRidge(0.5, Gaussian(0.7)).fit(X, y).predict(NEW), model.predict(NEW)
    )
