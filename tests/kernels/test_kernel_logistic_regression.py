"""KLR and Platt scaling held to scikit-learn, SciPy, their stationarity and paper."""

import re
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from sklearn import datasets
from sklearn.calibration import _SigmoidCalibration
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from mlbook.gradients import check_gradient
from mlbook.kernels.kernel_functions import (
    Constant, Gaussian, Kernel, Linear, Polynomial, Sigmoid)
from mlbook.kernels.kernel_logistic_regression import (
    SHORTEST_STEP, KernelLogisticRegression, PlattScaling, _is_definite_up_to, centred,
    klr_gradient, klr_objective, line_search, log_losses, misses, newton_point,
    platt_gradient, platt_objective, platt_step, platt_targets, sigmoid)


def cancer(n=150):
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = X[:n, :6]
    return (X - X.mean(axis=0)) / X.std(axis=0), y[:n]


def two_moons(n=80):
    return datasets.make_moons(n, noise=0.3, random_state=0)


def sk_logistic(C, X, y, weight=None):
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12,
                              max_iter=1000).fit(X, y, weight)


# Against logistic regression on explicit features


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_logistic_regression(C, weighted):
    X, y = cancer()
    weight = np.random.default_rng(0).uniform(0, 3, len(X)) if weighted else None
    ours = KernelLogisticRegression(C=C, kernel=Linear()).fit(X, y, weight)
    theirs = sk_logistic(C, X, y, weight)
    np.testing.assert_allclose(ours.X_fit_.T @ ours.dual_coef_, theirs.coef_[0],
                               rtol=1e-6, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X),
                               atol=1e-7)


def test_polynomial_kernel_is_logistic_regression_on_products():
    """(x'z + 1)^2 is the inner product of all products, with roots of 2 in front."""
    X, y = two_moons()
    products = PolynomialFeatures(2).fit_transform(X)[:, 1:]
    products = products * np.sqrt([2, 2, 1, 2, 1])
    ours = KernelLogisticRegression(C=2.0, kernel=Polynomial(2)).fit(X, y)
    theirs = sk_logistic(2.0, products, y)
    np.testing.assert_allclose(ours.decision_function(X),
                               theirs.decision_function(products), atol=1e-6)


def test_gaussian_kernel_is_logistic_regression_on_a_root_of_its_matrix():
    X, y = two_moons()
    values, vectors = np.linalg.eigh(Gaussian(2.0)(X))
    root = vectors * np.sqrt(np.maximum(values, 0))
    ours = KernelLogisticRegression(C=3.0, kernel=Gaussian(2.0)).fit(X, y)
    theirs = sk_logistic(3.0, root, y)
    np.testing.assert_allclose(ours.decision_function(X),
                               theirs.decision_function(root), atol=1e-6)


# By hand and by optimality


def test_two_points_by_hand():
    """x = -1, 1, labels 0, 1, K = xx': w = C (1 - p) 2 and w = log p/(1-p)."""
    w = 1.0
    C = w / (2 * (1 - 1 / (1 + np.exp(-w))))
    model = KernelLogisticRegression(C=C, kernel=Linear()).fit([[-1.0], [1.0]], [0, 1])
    np.testing.assert_allclose(model.dual_coef_, [-0.5, 0.5], atol=1e-9)
    assert model.intercept_ == pytest.approx(0, abs=1e-9)


def test_four_separable_points():
    X, y = [[-2.0], [-1], [1], [2]], [0, 0, 1, 1]
    model = KernelLogisticRegression(C=1.0, kernel=Linear()).fit(X, y)
    assert model.X_fit_[:, 0] @ model.dual_coef_ == pytest.approx(1.0066, abs=5e-5)
    assert model.intercept_ == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), Polynomial(3)])
def test_coefficients_are_the_costs_times_the_misses(C, kernel):
    X, y = two_moons()
    weight = np.random.default_rng(1).uniform(0.2, 2, len(X))
    model = KernelLogisticRegression(C=C, kernel=kernel).fit(X, y, weight)
    beta, cost = model.dual_coef_, C * weight
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(beta / cost, y - p, atol=1e-7)
    assert abs(beta.sum()) < 1e-6 * cost.sum()
    assert (np.abs(beta) < cost).all() and (beta != 0).all()


def test_no_other_model_has_a_lower_objective():
    X, y = two_moons()
    model = KernelLogisticRegression(C=2.0, kernel=Gaussian(1.0)).fit(X, y)
    K, cost = Gaussian(1.0)(X), np.full(len(X), 2.0)
    least = klr_objective(K, model.dual_coef_, model.intercept_, y, cost)
    assert least == pytest.approx(model.objective_, rel=1e-12)
    rng = np.random.default_rng(0)
    for scale in (1e-2, 1e-1, 1.0):
        for _ in range(50):
            away = rng.normal(size=len(X) + 1) * scale
            assert klr_objective(K, model.dual_coef_ + away[1:],
                                 model.intercept_ + away[0], y, cost) > least


def test_gradient():
    X, y = two_moons(20)
    K, cost = Gaussian(1.0)(X), np.linspace(0.5, 2, 20)
    at = np.random.default_rng(0).normal(size=21)

    def gradient(v):
        in_beta, in_b = klr_gradient(K, v[1:], v[0], y, cost)
        return np.concatenate([[in_b], in_beta])

    check_gradient(lambda v: klr_objective(K, v[1:], v[0], y, cost), gradient, at)


def test_newton_point_solves_newtons_equations():
    """H (step) = -gradient, with the Hessian written out."""
    X, y = two_moons(15)
    K, cost = Gaussian(1.0)(X), np.linspace(0.5, 2, 15)
    rng = np.random.default_rng(0)
    beta, b = rng.normal(size=15), 0.3
    p = sigmoid(K @ beta + b)
    A = np.column_stack([K, np.ones(15)])
    hessian = A.T @ (A * (cost * p * (1 - p))[:, None])
    hessian[:15, :15] += K
    in_beta, in_b = klr_gradient(K, beta, b, y, cost)
    to_beta, to_b = newton_point(K, K @ beta + b, y, cost)
    step = np.append(to_beta - beta, to_b - b)
    np.testing.assert_allclose(hessian @ step, -np.append(in_beta, in_b), atol=1e-9)


def test_newton_point_without_curvature_in_one_sample_or_in_all():
    K, target, cost = np.eye(2), np.array([0.0, 1]), np.ones(2)
    beta, b = newton_point(K, np.array([-1000.0, 0]), target, cost)
    np.testing.assert_allclose([*beta, b], [0, 0, 2], atol=1e-12)
    with pytest.raises(ValueError, match="no curvature left"):
        newton_point(K, np.array([1000.0, -1000]), target, cost)


def test_newton_point_keeps_small_curvatures_of_both_classes():
    """Exchanged classes give the mirror image, also where 1 - p rounds to 0."""
    K, f, target = np.diag([1.0, 2.0]), np.array([40.0, -37.0]), np.array([1.0, 0])
    cost = np.array([1e17, 1e17])
    beta, b = newton_point(K, f, target, cost)
    mirrored, mirrored_b = newton_point(K, -f, 1 - target, cost)
    np.testing.assert_allclose([*mirrored, mirrored_b], [*-beta, -b], rtol=1e-10)


def test_centring_moves_only_the_intercept():
    X, y = two_moons(30)
    K, cost = Gaussian(1.0)(X) + 7, np.linspace(0.5, 2, 30)
    around, r = centred(K, cost)
    np.testing.assert_allclose(around @ cost, 0, atol=1e-12)
    beta = np.random.default_rng(0).normal(size=30)
    beta -= beta.mean()
    np.testing.assert_allclose(around @ beta + r @ beta, K @ beta, atol=1e-12)
    assert beta @ around @ beta == pytest.approx(beta @ K @ beta, rel=1e-12)


def test_exchanged_labels_give_the_mirror_image():
    X, y = two_moons()
    model = KernelLogisticRegression().fit(X, y)
    other = KernelLogisticRegression().fit(X, 1 - y)
    np.testing.assert_allclose(other.decision_function(X),
                               -model.decision_function(X), atol=1e-7)


def test_a_constant_in_the_kernel_changes_nothing():
    """The coefficients sum to 0, so a constant vanishes from every score."""
    X, y = two_moons()
    plain = KernelLogisticRegression(kernel=Gaussian(1.0)).fit(X, y)
    lifted = KernelLogisticRegression(kernel=Gaussian(1.0) + Constant(5.0)).fit(X, y)
    np.testing.assert_allclose(lifted.decision_function(X),
                               plain.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_features_far_from_zero_as_logistic_regression(offset):
    X, y = two_moons()
    weight = np.random.default_rng(0).uniform(0.2, 2, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = KernelLogisticRegression(kernel=Linear()).fit(X + offset, y, weight)
    theirs = sk_logistic(1.0, X, y, weight)
    assert ours.n_iter_ < 10
    np.testing.assert_allclose(ours.X_fit_.T @ ours.dual_coef_, theirs.coef_[0],
                               atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X + offset),
                               theirs.decision_function(X), atol=1e-5)


def test_the_default_c_is_one():
    assert KernelLogisticRegression().get_params()["C"] == 1


# The line search


def test_steps_are_halved_until_they_lower_the_objective_enough():
    """1 and 1/2 raise (s - 1/8)^2, 1/4 leaves it as it was, 1/8 is its minimum."""
    assert line_search(lambda s: (s - 1 / 8) ** 2, 1 / 64, -1 / 4) == (1 / 8, 0)


def test_short_steps_need_to_lower_the_objective_only_a_little():
    h = 2.0**-16
    assert line_search(lambda s: (s - h) ** 2, h**2, -2 * h) == (h, 0)


def test_the_line_search_allows_what_rounding_can_do_and_ends():
    assert line_search(lambda s: 1e6 * (1 + 5e-13), 1e6, -1e-9)[0] == 1
    assert line_search(lambda s: 1e6 * (1 + 1e-11), 1e6, -1e-9)[0] < SHORTEST_STEP


# Limits


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10, 1e12])
def test_a_huge_c_on_separable_points(C):
    """w is the root of w = 2 C (sigmoid(-w) + 2 sigmoid(-2w)), by symmetry."""
    X, y = np.array([[-2.0], [-1], [1], [2]]), [0, 0, 1, 1]
    exact = brentq(lambda w: w - 2 * C * (sigmoid(-w) + 2 * sigmoid(-2 * w)), 0, 100,
                   xtol=1e-13)
    model = KernelLogisticRegression(C=C, kernel=Linear()).fit(X, y)
    w = model.X_fit_[:, 0] @ model.dual_coef_
    assert w == pytest.approx(exact, rel=1e-8)
    least = 2 * C * (np.exp(-exact) + np.exp(-2 * exact)) + exact**2 / 2
    assert model.objective_ == pytest.approx(least, rel=1e-5)


def test_small_losses_and_misses_keep_their_digits():
    f, target = np.array([40.0, -40.0]), np.array([1.0, 0.0])
    tiny = np.exp(-40.0)
    np.testing.assert_allclose(log_losses(f, target), [tiny, tiny], rtol=1e-12)
    np.testing.assert_allclose(misses(f, target), [tiny, -tiny], rtol=1e-12)


def test_small_probabilities_keep_their_digits():
    model = KernelLogisticRegression(kernel=Linear()).fit([[-1.0], [1.0]], [0, 1])
    f = model.decision_function([[100.0]])
    np.testing.assert_allclose(model.predict_proba([[100.0]])[:, 0], sigmoid(-f),
                               rtol=1e-10)
    platt = PlattScaling().fit([-1.0, 1.0], [0, 1])
    np.testing.assert_allclose(
        [platt.predict_proba([60.0])[0, 0], platt.predict_proba([-60.0])[0, 1]],
        2.0**-60, rtol=1e-10)


def test_a_score_of_zero_is_the_first_class():
    model = KernelLogisticRegression(kernel=Constant(0.0)).fit([[0.0], [1.0]], [3, 5])
    assert model.intercept_ == 0
    assert (model.predict([[0.0], [9.0]]) == 3).all()


def test_tol_ends_the_search():
    X, y = two_moons(40)
    rough = KernelLogisticRegression(tol=1e-2).fit(X, y)
    assert rough.n_iter_ < KernelLogisticRegression().fit(X, y).n_iter_


def test_the_model_keeps_its_own_samples_and_kernel():
    X, y = two_moons(40)
    X, at, kernel = X.copy(), X.copy(), Gaussian(1.0)
    model = KernelLogisticRegression(kernel=kernel).fit(X, y)
    before = model.predict_proba(at)
    X[:], kernel.gamma = 0, 9.0
    np.testing.assert_array_equal(model.predict_proba(at), before)


@pytest.mark.parametrize("C, weight", [
    (1e-200, 1e-200), (10.0, 1e307), (1e-8, [1e-320] + [1.0] * 39)])
def test_costs_out_of_range_are_refused(C, weight):
    X, y = two_moons(40)
    model = KernelLogisticRegression(C=C, kernel=Gaussian(1.0))
    with pytest.raises(ValueError, match="C times the sample weights must be > 0"):
        model.fit(X, y, np.broadcast_to(weight, 40))


@pytest.mark.parametrize("C", [1e18, 1e30, 10**300])
def test_a_c_beyond_float64_is_refused(C):
    with pytest.raises(ValueError, match="lower C"):
        KernelLogisticRegression(C=C, kernel=Gaussian(100.0)).fit(*two_moons())


@pytest.mark.parametrize("X_scale, X_shift", [(1e8, 0.0), (1.0, 1e8)])
def test_rounding_is_not_taken_for_a_kernel_that_is_none(X_scale, X_shift):
    X, y = two_moons()
    with pytest.raises(ValueError, match="rounding has outweighed"):
        KernelLogisticRegression(kernel=Linear()).fit(X_scale * X + X_shift, y)


def test_rounding_that_moves_scores_is_reported():
    X, y = two_moons()
    with pytest.warns(ConvergenceWarning, match="rounding of the kernel"):
        KernelLogisticRegression(kernel=Linear()).fit(X + 3e6, y)


def test_stable_functions():
    z = np.array([-1e4, -1234.1, -800.0, 0.0, 800.0, 1e4])
    np.testing.assert_array_equal(sigmoid(z), [0, 0, 0, 0.5, 1, 1])
    np.testing.assert_allclose(log_losses(z, np.zeros(6)),
                               [0, 0, 0, np.log(2), 800, 1e4])
    np.testing.assert_allclose(log_losses(z, np.ones(6)),
                               [1e4, 1234.1, 800, np.log(2), 0, 0])


def test_logits_of_ten_thousand():
    X, y = np.array([[-1.0], [1.0]]), [0, 1]
    model = KernelLogisticRegression(kernel=Linear()).fit(X, y)
    w = model.X_fit_[:, 0] @ model.dual_coef_
    far = np.array([[-1e4 / w], [1e4 / w]])
    np.testing.assert_array_equal(model.predict_proba(far), [[1, 0], [0, 1]])


def test_features_of_very_different_units():
    X, y = two_moons()
    mixed = X * [1e3, 1e-3]
    model = KernelLogisticRegression(kernel=Linear(), tol=1e-6).fit(mixed, y)
    theirs = sk_logistic(1.0, mixed, y)
    np.testing.assert_allclose(model.decision_function(mixed),
                               theirs.decision_function(mixed), atol=1e-4)


def test_a_huge_c_says_what_rounding_left_open():
    X, y = two_moons()
    with pytest.warns(ConvergenceWarning, match="beta off by .* of its size"):
        KernelLogisticRegression(C=1e10, kernel=Polynomial(3)).fit(X, y)


def test_the_line_search_is_needed():
    """Full steps of Newton's method run away on these five points."""
    X, y = np.array([[0.0], [1], [-7], [1], [20]]), np.array([0, 1, 0, 1, 1])
    with pytest.warns(ConvergenceWarning):
        early = KernelLogisticRegression(C=100, kernel=Polynomial(2), max_iter=11)
        assert early.fit(X, y).objective_ < 22  # by full steps it would be 1.6e8
    model = KernelLogisticRegression(C=100, kernel=Polynomial(2)).fit(X, y)
    products = np.column_stack([np.sqrt(2) * X, X**2])
    theirs = sk_logistic(100, products, y)
    np.testing.assert_allclose(model.decision_function(X),
                               theirs.decision_function(products), atol=1e-5)


def test_iteration_limit_warns():
    X, y = two_moons()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = KernelLogisticRegression(C=100, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("C", [1e-3, 0.1, 100.0])
def test_a_kernel_that_is_none_is_refused(C):
    """Newton's method meets no obstacle at C = 0.1, and ends on a saddle."""
    X, y = two_moons()
    with pytest.raises(ValueError, match="is not positive semi-definite on these"):
        KernelLogisticRegression(C=C, kernel=Sigmoid(5.0, -3.0)).fit(X, y)


@pytest.mark.parametrize("constant", [1e8, 1e10, 1e12])
def test_a_large_constant_does_not_hide_a_kernel_that_is_none(constant):
    """The constant is gone from the centred matrix, with an eigenvalue of -1.66."""
    X, y = two_moons()
    hidden = Sigmoid(0.5, -1.0) + Constant(constant)
    for C in (1e-3, 0.1):
        with pytest.raises(ValueError, match="is not positive semi-definite on these"):
            KernelLogisticRegression(C=C, kernel=hidden).fit(X, y)


class MinusSquaredDistance(Kernel):
    def _pairs(self, X, Z):
        return -((X[:, None] - Z) ** 2).sum(axis=2)


def test_a_kernel_that_is_one_only_for_coefficients_of_sum_zero_is_refused():
    """Along all other coefficients the objective falls for ever."""
    X, y = two_moons()
    with pytest.raises(ValueError, match="is not positive semi-definite on these"):
        KernelLogisticRegression(kernel=MinusSquaredDistance()).fit(X, y)


@pytest.mark.parametrize("n, offset", [(2, 1e6), (3, 1e6), (40, 1e5)])
def test_rounding_of_features_far_from_zero_is_no_negative_eigenvalue(n, offset):
    """With weights that centre nearly on one sample, where rounding adds up most."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, 2)) + offset, np.arange(n) % 2
        weight = np.append(1e3, np.ones(n - 1))
        model = KernelLogisticRegression(C=1e-3, kernel=Linear()).fit(X, y, weight)
        near = KernelLogisticRegression(C=1e-3, kernel=Linear()).fit(
            X - offset, y, weight)
        np.testing.assert_allclose(model.decision_function(X),
                                   near.decision_function(X - offset), atol=1e-2)


def test_rounding_alone_moves_the_limit_of_the_centred_test():
    """-0.5 is refused or not by the allowance, -1e-9 and -1e-11 by their share."""
    K = np.diag([2.0, -0.5])
    assert not _is_definite_up_to(0.4, K) and _is_definite_up_to(0.6, K)
    assert not _is_definite_up_to(0.4e300, 1e300 * K)
    assert _is_definite_up_to(0.0, np.diag([1.0, -1e-11]))
    assert not _is_definite_up_to(0.0, np.diag([1.0, -1e-9]))
    assert _is_definite_up_to(0.0, np.zeros((2, 2)))


def test_values_that_underflow_are_not_taken_for_a_kernel_that_is_none():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match="underflow on these points: scale the feat"):
        KernelLogisticRegression(kernel=Linear()).fit(1e-160 * X, y)
    for scale in (1e-150, 1e-300):
        share = KernelLogisticRegression(kernel=Linear()).fit(scale * X, y)
        assert share.intercept_ == pytest.approx(0, abs=1e-12)


def test_the_default_kernel_counts_rows_by_their_weights():
    X, y = two_moons()
    weight = np.tile([3, 1], 40)
    weighted = KernelLogisticRegression().fit(X, y, weight).kernel_.gamma
    copied = KernelLogisticRegression().fit(np.repeat(X, weight, axis=0),
                                            np.repeat(y, weight)).kernel_.gamma
    assert weighted == pytest.approx(copied, rel=1e-12)
    assert weighted != pytest.approx(KernelLogisticRegression().fit(X, y).kernel_.gamma,
                                     rel=1e-6)


@pytest.mark.parametrize("C, gamma, larger", [(1e3, 0.1, 0), (1e6, 100.0, 1)])
def test_the_violation_is_a_share_of_the_largest_coefficient_or_pull(C, gamma, larger):
    X, y = two_moons()
    with pytest.warns(ConvergenceWarning) as caught:
        model = KernelLogisticRegression(C=C, kernel=Gaussian(gamma), max_iter=1)
        model.fit(X, y)
    told = float(re.search("beta off by (.*) of its", str(caught[0].message))[1])
    beta, pull = model.dual_coef_, C * (y - model.predict_proba(X)[:, 1])
    largest = np.abs([beta, pull]).max(axis=1)
    assert largest[larger] > 1.09 * largest[1 - larger]
    assert told == pytest.approx(np.abs(beta - pull).max() / largest[larger], rel=0.03)


def test_weights_are_counts_and_text_labels():
    X, y = two_moons()
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    options = {"kernel": Gaussian(1.0), "tol": 1e-10}
    weighted = KernelLogisticRegression(**options).fit(X, y, weight)
    text = np.array(["a", "b"])[y]
    copied = KernelLogisticRegression(**options).fit(X[rows], text[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X),
                               atol=1e-9)
    assert (copied.predict(X) == np.array(["a", "b"])[weighted.predict(X)]).all()


@pytest.mark.parametrize("y, message", [
    ([0, 0, 0], r"got 1 class\(es\)"), ([0, 1, 2], r"got 3 class\(es\)")])
def test_two_classes_are_needed(y, message):
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegression().fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize("parameters, message", [
    ({"C": -1}, "C must be finite and > 0"), ({"tol": 0}, "tol must be"),
    ({"tol": 1.0}, "tol must be"),
    ({"max_iter": 0}, "max_iter must be"), ({"kernel": Gaussian(0)}, "gamma must be")])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegression(**parameters).fit(*two_moons(20))


# Platt scaling


def scores(n=200, seed=0, slope=1.5, scale=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    y = rng.random(n) < sigmoid(slope * s - 0.4)
    return scale * s + shift, y.astype(int)


PLATT = {
    "plain": scores(), "few": scores(12, seed=3), "steep": scores(slope=20.0),
    "large scores": scores(scale=1e4), "shifted": scores(shift=50.0),
    "separated": (np.array([-3.0, -2, -1, 1, 2, 3]), np.array([0, 0, 0, 1, 1, 1])),
    "wrong way": (np.array([3.0, 2, -1, 1, -2]), np.array([0, 0, 0, 1, 1])),
}


@pytest.mark.parametrize("name", PLATT)
def test_platt_as_scikit_learn(name):
    s, y = PLATT[name]
    ours, theirs = PlattScaling().fit(s, y), _SigmoidCalibration().fit(s, y)
    np.testing.assert_allclose(ours.predict_proba(s)[:, 1], theirs.predict(s),
                               atol=1e-4)
    assert ours.A_ == pytest.approx(theirs.a_, rel=1e-3)


def test_platt_with_weights_as_scikit_learn():
    s, y = scores()
    weight = np.random.default_rng(0).uniform(0, 2, len(s))
    ours, theirs = PlattScaling().fit(s, y, weight), _SigmoidCalibration()
    theirs.fit(s, y, weight)
    np.testing.assert_allclose([ours.A_, ours.B_], [theirs.a_, theirs.b_], atol=1e-5)


@pytest.mark.parametrize("name", PLATT)
def test_platt_is_logistic_regression_on_both_labels_of_every_row(name):
    """A row with target t counts t as positive and 1 - t as negative."""
    s, y = PLATT[name]
    t = platt_targets(y == 1, np.ones(len(s)))
    unit = s.std()
    theirs = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(
        np.concatenate([s, s])[:, None] / unit, np.repeat([1, 0], len(s)),
        np.concatenate([t, 1 - t]))
    ours = PlattScaling().fit(s, y)
    assert -ours.A_ * unit == pytest.approx(theirs.coef_[0, 0], rel=1e-6)
    assert -ours.B_ == pytest.approx(theirs.intercept_[0], rel=1e-6, abs=1e-8)


def test_platt_gradient():
    s, y = scores(30)
    target, weight = platt_targets(y == 1, np.ones(30)), np.linspace(0, 2, 30)
    check_gradient(lambda v: platt_objective(*v, s, target, weight),
                   lambda v: platt_gradient(*v, s, target, weight),
                   np.array([-0.7, 0.3]))


def test_platt_as_scipys_minimum():
    s, y = scores(60)
    target, weight = platt_targets(y == 1, np.ones(60)), np.ones(60)
    found = minimize(lambda v: platt_objective(*v, s, target, weight), [0.0, 0.0],
                     method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    ours = PlattScaling().fit(s, y)
    np.testing.assert_allclose([ours.A_, ours.B_], found.x, atol=1e-6)


def test_smoothed_targets():
    target = platt_targets(np.array([True, True, True, False]), np.ones(4))
    np.testing.assert_allclose(target, [4 / 5, 4 / 5, 4 / 5, 1 / 3])
    weighted = platt_targets(np.array([1, 1, 0]), np.array([1.0, 2, 4]))
    np.testing.assert_allclose(weighted, [4 / 5, 4 / 5, 1 / 6])


def test_two_scores_by_hand():
    """One row of each class at -1 and 1: targets 1/3 and 2/3, reached exactly."""
    model = PlattScaling().fit([-1.0, 1.0], ["n", "y"])
    np.testing.assert_allclose(model.predict_proba([-1.0, 1.0]),
                               [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    assert model.A_ == pytest.approx(-np.log(2)) and model.B_ == pytest.approx(0)


def test_scores_that_say_nothing_give_the_mean_target():
    model = PlattScaling().fit([0.1] * 5, [0, 1, 1, 1, 1])
    assert model.A_ == 0
    np.testing.assert_allclose(model.predict_proba([0.1, 7.0])[:, 1],
                               (4 * 5 / 6 + 1 / 3) / 5)


@pytest.mark.parametrize("unit, shift", [(1e6, 3e6), (1e-6, 0.0), (1.0, 1e6)])
def test_units_of_the_scores_do_not_matter(unit, shift):
    s, y = scores()
    plain, scaled = PlattScaling().fit(s, y), PlattScaling().fit(unit * s + shift, y)
    np.testing.assert_allclose(scaled.predict_proba(unit * s + shift),
                               plain.predict_proba(s), atol=1e-8)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e200, 7e307])
def test_scores_near_the_ends_of_float64(unit):
    s, y = np.array([-2.0, -1, 1, 2]), [0, 0, 1, 1]
    plain, scaled = PlattScaling().fit(s, y), PlattScaling().fit(unit * s, y)
    np.testing.assert_allclose(scaled.predict_proba(unit * s), plain.predict_proba(s),
                               rtol=1e-10)
    assert scaled.A_ * unit == pytest.approx(plain.A_, rel=1e-6)


def test_platt_drops_rows_of_weight_zero():
    kept = PlattScaling().fit([0.0, 1.0], [0, 1])
    for s, y in ([0.0, 1, 5], [0, 1, 2]), ([0.0, 1, 1e300], [0, 1, 1]):
        model = PlattScaling().fit(s, y, [1, 1, 0])
        assert (model.A_, model.B_) == (kept.A_, kept.B_)
    assert PlattScaling().fit([0.0, 0, 5], [0, 1, 1], [1, 1, 0]).A_ == 0
    with pytest.raises(ValueError, match="labels of 2 classes, got 1"):
        PlattScaling().fit([0.0, 1, 5], [0, 1, 1], [0, 1, 1])


def test_platt_weights_of_extreme_size():
    s, y = np.array([-2.0, -1, 1, 2]), [0, 1, 0, 1]
    light = PlattScaling().fit(s, y, np.full(4, 5e-324))  # all targets are 1/2
    np.testing.assert_allclose([light.A_, light.B_], 0, atol=1e-12)
    heavy = PlattScaling().fit(s, y, np.full(4, 1e300))  # the targets are 0 and 1
    theirs = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    theirs.fit(s[:, None], y)
    assert -heavy.A_ == pytest.approx(theirs.coef_[0, 0], rel=1e-6)
    with pytest.raises(ValueError, match="sum of sample_weight overflows"):
        PlattScaling().fit(s, y, np.full(4, 1e308))


def test_platt_tol_ends_the_search_whatever_the_weights_add_up_to():
    s, y = scores()
    weight = np.random.default_rng(0).uniform(0, 2, len(s))
    assert PlattScaling().fit(s, y).n_iter_ == 5
    for total in 1.0, 1e6:
        assert PlattScaling(tol=1e-2).fit(s, y, total * weight).n_iter_ == 3


def test_platt_converges_quadratically_with_weights():
    s, y = scores()
    weight = np.where(np.arange(len(s)) % 2, 50.0, 0.5)
    assert PlattScaling().fit(s, y, weight).n_iter_ <= 6


def stationary(model, s, y, weight):
    """Shares of the gradient left in the sum of its terms, in A and in B."""
    t = platt_targets(y == 1, weight)
    z = model.A_ * s + model.B_
    terms = [t * sigmoid(z), (1 - t) * sigmoid(-z)]
    for score in (s, np.ones(len(s))):
        up, down = (weight * score * term for term in terms)
        yield abs((up - down).sum()) / np.abs([up, down]).sum()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("heavy", [1e3, 1e6, 1e9, 1e12, 1e14])
def test_platt_with_one_heavy_row_is_at_its_minimum(heavy, label):
    rng = np.random.default_rng(0)
    s = rng.normal(size=30)
    y = (s + 0.5 * rng.normal(size=30) > 0).astype(int)
    weight = np.ones(30)
    weight[0], y[0] = heavy, label
    model = PlattScaling().fit(s, y, weight)
    assert max(stationary(model, s, y, weight)) < 1e-9
    finer = PlattScaling(tol=1e-13).fit(s, y, weight)
    np.testing.assert_allclose([model.A_, model.B_], [finer.A_, finer.B_], rtol=1e-9)


def test_platt_with_a_heavy_row_against_the_root_of_its_equations():
    """Scores 0 (heavy), 1 and 1: both probabilities can be reached exactly."""
    weight = np.array([1e8, 3.0, 1.0])
    model = PlattScaling().fit([0.0, 1.0, 1.0], [1, 1, 0], weight)
    plus, minus = (1e8 + 4) / (1e8 + 5), 1 / 3
    B = -np.log(1e8 + 4)
    p = (3 * plus + minus) / 4
    assert model.B_ == pytest.approx(B, rel=1e-8)
    assert model.A_ == pytest.approx(-np.log(p / (1 - p)) - B, rel=1e-8)


@pytest.mark.parametrize("seed", [2, 5, 30, 54])
def test_platt_with_weights_of_all_sizes(seed):
    """Seed 54 runs away where Newton's steps may be of any length."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    s = rng.normal(size=n)
    y = (s + rng.choice([0.2, 1, 3]) * rng.normal(size=n) > 0).astype(int)
    rng.uniform()
    weight = 10 ** rng.uniform(-8, 8, n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PlattScaling().fit(s, y, weight)
    assert max(stationary(model, s, y, weight)) < 1e-9


def test_platt_objective_keeps_small_targets():
    """At p = t = 1e-15 the loss is the entropy of t."""
    t = 1e-15
    least = platt_objective(0.0, -np.log(t / (1 - t)), np.zeros(1), np.array([t]),
                            np.ones(1))
    assert least == pytest.approx(t - t * np.log(t), rel=1e-12, abs=0)


def test_a_step_of_platt_scaling_is_newtons():
    s, y = scores(30)
    target, weight = platt_targets(y == 1, np.ones(30)), np.linspace(0.1, 2, 30)
    step, slope = platt_step(-0.7, 0.3, s, target, weight)
    p = sigmoid(0.7 * s - 0.3)
    design = np.column_stack([s, np.ones(30)])
    hessian = design.T @ (design * (weight * p * (1 - p))[:, None])
    gradient = platt_gradient(-0.7, 0.3, s, target, weight)
    np.testing.assert_allclose(hessian @ step, -gradient, atol=1e-12)
    assert slope == pytest.approx(step @ gradient, rel=1e-9)
    flat, none = platt_step(0.0, 1e4, s, target, weight)
    assert not flat.any() and none == 0


def test_platt_refuses_weights_that_vanish_beside_others():
    with pytest.raises(ValueError, match="raise the small ones or set them to 0"):
        PlattScaling().fit([-1.0, 0, 1], [0, 1, 1], [1e-320, 1e10, 1.0])


def test_a_platt_fit_that_raises_keeps_the_old_model():
    model = PlattScaling().fit([1.0, 2, 3], ["n", "y", "y"])
    before = model.predict_proba([0.5])
    with pytest.raises(ValueError, match="got 1"):
        model.fit([1.0, 2, 3], ["a", "a", "a"])
    assert list(model.classes_) == ["n", "y"]
    np.testing.assert_array_equal(model.predict_proba([0.5]), before)


def test_platt_probabilities_of_extreme_scores():
    model = PlattScaling().fit(*scores())
    np.testing.assert_array_equal(model.predict_proba([-1e5, 1e5]), [[1, 0], [0, 1]])


def test_platt_iteration_limit_warns():
    with pytest.warns(ConvergenceWarning, match="PlattScaling stopped"):
        PlattScaling(max_iter=1).fit(*scores(slope=20.0))


@pytest.mark.parametrize("s, y, message", [
    ([[1.0], [2.0]], [0, 1], "scores must be a 1-D array"),
    ([], [], "at least one value"),
    ([1.0, np.nan], [0, 1], "scores contains NaN"),
    ([1.0, 2.0], [0, 1, 1], r"shape of the scores, \(2,\), got \(3,\)"),
    ([1.0, 2.0], [1, 1], "labels of 2 classes, got 1"),
    ([1.0, 2.0], [0.3, 0.7], "Unknown label type: continuous"),
    ([1.0, 2.0], [0, np.nan], "y contains NaN"),
    ([1.0, 2.0], None, "requires y"),
    ([-5e-324, 5e-324], [0, 1], "leave the range of float64"),
])
def test_platt_refuses_bad_input(s, y, message):
    with pytest.raises(ValueError, match=message):
        PlattScaling().fit(s, y)


@pytest.mark.parametrize("weight, message", [
    ([1.0, -1.0], "Negative values in sample_weight"), ([0.0, 0.0], "is zero"),
    ([1.0], r"sample_weight.shape == \(1,\)")])
def test_platt_refuses_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        PlattScaling().fit([1.0, 2.0], [0, 1], weight)


@pytest.mark.parametrize("parameters, message", [
    ({"tol": 0}, "tol must be"), ({"tol": 1.0}, "tol must be"),
    ({"max_iter": 0}, "max_iter must be")])
def test_bad_parameters_of_platt(parameters, message):
    with pytest.raises(ValueError, match=message):
        PlattScaling(**parameters).fit([1.0, 2.0], [0, 1])


def test_platt_before_fit():
    with pytest.raises((ValueError, NotFittedError), match="not fitted"):
        PlattScaling().predict_proba([0.0])
