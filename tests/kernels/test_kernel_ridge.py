"""Kernel ridge held to scikit-learn, to ridge on written-out features, to refits."""

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
    for _ in range(20):
        assert objective(beta + 0.01 * rng.normal(size=30)) > least


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
    np.testing.assert_allclose(model.predict(NEW), without.predict(NEW), rtol=1e-11)
    np.testing.assert_allclose(
        model.loo_residuals()[:3], (y - without.predict(X))[:3], rtol=1e-9
    )


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


def test_default_kernel_is_gaussian_of_the_data_width():
    model = KernelRidge().fit(X, y)
    assert model.kernel_.gamma == pytest.approx(1 / (3 * X.var()))


def test_repeated_rows():
    twice, targets = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    targets[1::2] += 0.4
    model = KernelRidge(0.2, Gaussian(1.0)).fit(twice, targets)
    mean = KernelRidge(0.1, Gaussian(1.0)).fit(X, y + 0.2)
    np.testing.assert_allclose(model.predict(NEW), mean.predict(NEW), rtol=1e-9)
    with pytest.raises(ValueError, match="raise alpha, remove repeated rows"):
        KernelRidge(0, Gaussian(1.0)).fit(twice, targets)


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
