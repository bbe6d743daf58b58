"""SVR held to libsvm, to SciPy, to its optimality conditions and to paper."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVR as LibSVR

from mlbook.kernels.kernel_functions import Gaussian, Linear, Polynomial
from mlbook.kernels.support_vector_regression import SVR, tube_loss

LIB = {
    "linear": (Linear(), {"kernel": "linear"}),
    "cubic": (Polynomial(3, gamma=0.1),
              {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0}),
    "gaussian": (Gaussian(0.2), {"kernel": "rbf", "gamma": 0.2}),
}


def wave(n=120, seed=0, factor=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_t(3, size=n)
    return X * np.array([1, factor, 1]), y


def repeated():
    """Rows that occur three times, with targets that contradict each other."""
    X, y = wave(40)
    return np.repeat(X, 3, axis=0), y.repeat(3) + np.tile([-0.4, 0.0, 0.7], 40)


def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return X[:200] * 20, y[:200]


PROBLEMS = {
    "linear, C=0.01": (*wave(), "linear", 0.01, 0.1),
    "linear, C=1": (*wave(), "linear", 1.0, 0.3),
    "cubic, C=1": (*wave(), "cubic", 1.0, 0.1),
    "gaussian, C=1": (*wave(), "gaussian", 1.0, 0.1),
    "gaussian, C=50": (*wave(90), "gaussian", 50.0, 0.3),
    "no tube": (*wave(), "gaussian", 1.0, 0.0),
    "contradictions": (*repeated(), "gaussian", 10.0, 0.05),
    "a feature times 1000": (*wave(factor=1e3), "gaussian", 10.0, 0.1),
    "a feature over 1000": (*wave(factor=1e-3), "gaussian", 10.0, 0.1),
    "diabetes, targets of hundreds": (*diabetes(), "gaussian", 50.0, 10.0),
}
each = pytest.mark.parametrize("name", PROBLEMS)


def fit_both(name):
    X, y, kind, C, epsilon = PROBLEMS[name]
    kernel, options = LIB[kind]
    ours = SVR(C=C, epsilon=epsilon, kernel=kernel, tol=1e-6).fit(X, y)
    return ours, LibSVR(C=C, epsilon=epsilon, tol=1e-6, **options).fit(X, y)


def all_betas(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_
    return beta


def lib_objective(lib, kernel, y, epsilon):
    beta = lib.dual_coef_[0]
    return (y[lib.support_] @ beta - epsilon * np.abs(beta).sum()
            - 0.5 * beta @ kernel(lib.support_vectors_) @ beta)


def primal_objective(model, X, y, weight=None):
    beta = model.dual_coef_
    norm = beta @ model.kernel_(model.support_vectors_) @ beta
    error = np.maximum(np.abs(y - model.predict(X)) - model.epsilon, 0)
    return 0.5 * norm + model.C * np.average(error, weights=weight) * (
        len(y) if weight is None else weight.sum())


def some_weights(n):
    """Whole numbers from 0 to 3, the first two 0."""
    weight = np.random.default_rng(0).integers(0, 4, n).astype(float)
    weight[:2] = 0
    return weight


@each
def test_agrees_with_libsvm(name):
    X, y, _, _, epsilon = PROBLEMS[name]
    ours, lib = fit_both(name)
    objective = lib_objective(lib, ours.kernel_, y, epsilon)
    assert ours.dual_objective_ == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(ours.predict(X), lib.predict(X), atol=1e-4)
    assert ours.intercept_ == pytest.approx(lib.intercept_[0], abs=1e-4)
    if name != "contradictions":  # equal rows can share their pull in many ways
        np.testing.assert_array_equal(ours.support_, lib.support_)
        np.testing.assert_allclose(ours.dual_coef_, lib.dual_coef_[0], atol=1e-2)


@pytest.mark.parametrize("change", [{"epsilon": 0.303}, {"C": 49.5}])
def test_one_per_cent_is_seen(change):
    """The comparison with libsvm would not pass a slightly different problem."""
    X, y, kind, C, epsilon = PROBLEMS["gaussian, C=50"]
    other = SVR(**{"C": C, "epsilon": epsilon, "kernel": LIB[kind][0], "tol": 1e-6,
                   **change}).fit(X, y)
    _, lib = fit_both("gaussian, C=50")
    assert np.abs(other.predict(X) - lib.predict(X)).max() > 1e-3


@each
def test_dual_is_feasible_and_kkt_conditions_hold(name):
    X, y, _, C, epsilon = PROBLEMS[name]
    model, _ = fit_both(name)
    beta, residual = all_betas(model, len(X)), y - model.predict(X)
    assert abs(beta.sum()) < 1e-10 * C * len(X)
    assert (np.abs(beta) <= C).all()
    # the side of the tube, and how far out, as seen from the side that pulls
    out = np.sign(beta) * residual - epsilon
    free = (beta != 0) & (np.abs(beta) < C)
    # no tube: both variables of a row can be off 0, and only their difference counts
    assert np.abs(out[free]).max(initial=0) < 1e-5
    assert out[np.abs(beta) == C].min(initial=0) > -1e-5
    assert np.abs(residual[beta == 0]).max(initial=0) < epsilon + 1e-5


@each
def test_primal_equals_dual(name):
    X, y, *_ = PROBLEMS[name]
    model, _ = fit_both(name)
    assert primal_objective(model, X, y) == pytest.approx(model.dual_objective_,
                                                          rel=1e-5)


def test_a_small_tol_is_kept_to():
    X, y, kind, C, epsilon = PROBLEMS["gaussian, C=1"]
    model = SVR(C=C, epsilon=epsilon, kernel=LIB[kind][0], tol=1e-10).fit(X, y)
    assert abs(primal_objective(model, X, y) - model.dual_objective_) < 1e-8


def test_weighted_optimality_conditions():
    X, y = wave(80)
    weight = some_weights(80)
    model = SVR(C=0.7, kernel=Gaussian(0.2), tol=1e-8).fit(X, y, weight)
    beta, residual = all_betas(model, 80), y - model.predict(X)
    assert abs(beta.sum()) < 1e-12 * 80
    assert (np.abs(beta) <= 0.7 * weight).all()
    out, full = np.sign(beta) * residual - 0.1, np.abs(beta) == 0.7 * weight
    assert np.abs(out[(beta != 0) & ~full]).max() < 1e-7
    assert out[(beta != 0) & full].min() > -1e-7
    assert np.abs(residual[(beta == 0) & (weight > 0)]).max() < 0.1 + 1e-7
    assert primal_objective(model, X, y, weight) == pytest.approx(
        model.dual_objective_, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_model_has_a_lower_objective(seed):
    """An invariant of the primal problem that knows nothing of duals."""
    X, y = wave(40, seed)
    model = SVR(C=2.0, epsilon=0.2, kernel=Gaussian(0.5), tol=1e-8).fit(X, y)
    beta, K = all_betas(model, len(X)), Gaussian(0.5)(X)

    def objective(beta, b):
        return 0.5 * beta @ K @ beta + 2.0 * tube_loss(y - K @ beta - b, 0.2).sum()

    least = objective(beta, model.intercept_)
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1e-2, 1e-1, 1.0):
        for _ in range(50):
            away = rng.normal(size=len(X) + 1) * scale
            assert objective(beta + away[1:], model.intercept_ + away[0]) > least


def test_a_narrow_tube_at_high_cost_is_least_absolute_deviations():
    """Linear kernel, no tube, C large enough: a linear program that SciPy solves."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 2))
    y = X @ [1.5, -1.0] + 2.0 + rng.standard_t(2, size=25)
    n, unit = len(X), np.eye(len(X))
    A = np.hstack([X, np.ones((n, 1)), unit, -unit])
    cost = np.concatenate([np.zeros(3), np.ones(2 * n)])
    bounds = [(None, None)] * 3 + [(0, None)] * (2 * n)
    reference = linprog(cost, A_eq=A, b_eq=y, bounds=bounds).x[:3]
    model = SVR(C=30.0, epsilon=0.0, kernel=Linear(), tol=1e-7).fit(X, y)
    weight = model.dual_coef_ @ model.support_vectors_
    np.testing.assert_allclose([*weight, model.intercept_], reference, atol=1e-4)


def test_three_points_by_hand():
    """y = x at -1, 0, 1 with epsilon = 1/2: the flattest line has slope 1/2."""
    X, y = [[-1.0], [0], [1]], [-1.0, 0, 1]
    model = SVR(C=1, epsilon=0.5, kernel=Linear(), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(all_betas(model, 3), [-0.25, 0, 0.25], atol=1e-12)
    assert model.intercept_ == pytest.approx(0, abs=1e-12)
    assert model.dual_objective_ == pytest.approx(1 / 8)
    # the box stops it at 1/8: slope 1/4, both ends 1/4 beyond the tube
    model.set_params(C=0.125).fit(X, y)
    np.testing.assert_allclose(all_betas(model, 3), [-0.125, 0, 0.125], atol=1e-12)
    np.testing.assert_allclose(model.predict(X), [-0.25, 0, 0.25], atol=1e-12)


def test_the_intercept_comes_from_the_edges():
    """One point far above, in a box; the free ones alone say where the line is."""
    X, y = [[0.0], [1], [2], [3]], [0.0, 1, 2, 30]
    model = SVR(C=2.0, epsilon=0.25, kernel=Linear(), tol=1e-12).fit(X, y)
    residual = np.array(y) - model.predict(X)
    beta = all_betas(model, 4)
    free = (beta != 0) & (np.abs(beta) < 2)
    assert free.any() and beta[3] == 2
    np.testing.assert_allclose(np.abs(residual[free]), 0.25, atol=1e-9)


@pytest.mark.parametrize("weight", [None, [1.0, 1, 5, 5]])
def test_all_at_the_box_leave_an_interval(weight):
    """f(x) = x/4 + b with 5/4 <= b <= 3/2: the last two bound b and do not pull."""
    X, y = [[0.0], [1], [2], [3]], [0.0, 3, 1, 3]
    model = SVR(C=0.25, epsilon=1, kernel=Linear(), tol=1e-12).fit(X, y, weight)
    np.testing.assert_array_equal(all_betas(model, 4), [-0.25, 0.25, 0, 0])
    assert model.intercept_ == pytest.approx(1.375, abs=1e-12)


def test_without_a_free_one_the_others_may_bound_the_intercept():
    X, y = np.arange(4.0)[:, None], np.array([0, 3, 1.2, 3])
    model = SVR(C=0.25, epsilon=1, kernel=Linear(), tol=1e-12).fit(X, y)
    kept = model.support_
    alone = SVR(C=0.25, epsilon=1, kernel=Linear(), tol=1e-12).fit(X[kept], y[kept])
    np.testing.assert_array_equal(alone.dual_coef_, model.dual_coef_)
    assert model.intercept_ == pytest.approx((1.25 + 1.7) / 2)
    assert alone.intercept_ == pytest.approx((1 + 1.75) / 2)


def test_a_tube_that_holds_every_point():
    X, y = wave(30)
    model = SVR(epsilon=np.ptp(y) / 2 + 0.5).fit(X, y)
    assert len(model.support_) == 0 and model.dual_coef_.shape == (0,)
    assert str(model.dual_objective_) == "0.0"
    low, high = y.max() - model.epsilon, y.min() + model.epsilon
    assert low < model.intercept_ < high
    assert model.intercept_ == pytest.approx((y.max() + y.min()) / 2)
    np.testing.assert_array_equal(model.predict(X), model.intercept_)


def test_a_shift_of_the_targets_moves_the_intercept_alone():
    X, y = wave(60)
    model = SVR(kernel=Gaussian(0.2), tol=1e-9).fit(X, y)
    shifted = SVR(kernel=Gaussian(0.2), tol=1e-9).fit(X, y + 100)
    np.testing.assert_allclose(shifted.dual_coef_, model.dual_coef_, atol=1e-6)
    assert shifted.intercept_ == pytest.approx(model.intercept_ + 100)


def test_a_mirror_turns_every_sign():
    X, y = wave(60)
    model = SVR(kernel=Gaussian(0.2), tol=1e-9).fit(X, y)
    mirrored = SVR(kernel=Gaussian(0.2), tol=1e-9).fit(X, -y)
    np.testing.assert_allclose(mirrored.predict(X), -model.predict(X), atol=1e-6)


def test_units_of_the_targets_scale_c_and_epsilon():
    """y, epsilon and C in another unit: beta, and with it f, is in that unit."""
    X, y = wave(60)
    model = SVR(C=2, epsilon=0.2, kernel=Gaussian(0.2), tol=1e-9).fit(X, y)
    scaled = SVR(C=2e3, epsilon=200, kernel=Gaussian(0.2), tol=1e-6).fit(X, 1e3 * y)
    np.testing.assert_allclose(scaled.predict(X), 1e3 * model.predict(X), atol=1e-3)


def test_weights_scale_the_box():
    X, y = wave(80)
    weight = some_weights(len(X))
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    for kernel in (Gaussian(0.2), None):
        options = {"C": 0.7, "kernel": kernel, "tol": 1e-8}
        weighted = SVR(**options).fit(X, y, weight)
        copied = SVR(**options).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-5)
    weighted = SVR(C=0.7, kernel=Gaussian(0.2), tol=1e-8).fit(X, y, weight)
    lib = LibSVR(C=0.7, gamma=0.2, tol=1e-8).fit(X, y, weight)
    np.testing.assert_allclose(weighted.predict(X), lib.predict(X), atol=1e-5)


def test_support_counts_rows_of_weight_zero():
    X, y = wave(40)
    model = SVR().fit(X, y, np.repeat([0.0, 1.0], [10, 30]))
    assert model.support_.min() >= 10
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


@pytest.mark.parametrize("C, weight", [
    (1e-300, np.full(20, 1e-300)),
    (1e-300, np.repeat([1e-300, 1e300], 10)),
    (1e300, np.full(20, 1e300)),
])
def test_a_box_that_leaves_the_numbers_is_refused(C, weight):
    with pytest.raises(ValueError, match="C times sample_weight must be finite"):
        SVR(C=C).fit(*wave(20), weight)


def test_targets_that_leave_the_numbers_are_named():
    X, y = wave(20)
    with pytest.raises(ValueError, match="y and epsilon are too large"):
        SVR(epsilon=1e308).fit(X, y / np.abs(y).max() * 1.7e308)


def test_defaults_are_libsvms():
    ours, lib = SVR().get_params(), LibSVR().get_params()
    assert all(ours[name] == lib[name] for name in ("C", "epsilon", "tol"))


def test_predict_checks_its_points():
    X, y = wave(20)
    with pytest.raises(NotFittedError):
        SVR().predict(X)
    model = SVR().fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(X * np.nan)


def test_default_kernel_is_scikit_learns_scale():
    X, y = wave(80)
    ours, lib = SVR(tol=1e-8).fit(X, y), LibSVR(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), lib.predict(X), atol=1e-5)


def test_tube_loss():
    np.testing.assert_allclose(tube_loss([-3, -1, -0.5, 0, 1, 2.5], 1),
                               [2, 0, 0, 0, 0, 1.5])
    for residual, epsilon, error in [([np.nan], 0.1, ValueError), ([0], -1, ValueError),
                                     ([0], np.nan, ValueError), ([1], "a", TypeError)]:
        with pytest.raises(error):
            tube_loss(residual, epsilon)


def test_iteration_limit_warns():
    X, y = wave(60)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        model = SVR(max_iter=5).fit(X, y)
    assert model.n_iter_ == 5
    with warnings.catch_warnings():  # three points by hand: one move is enough
        warnings.simplefilter("error")
        SVR(epsilon=0.5, kernel=Linear(), max_iter=1).fit([[-1.0], [0], [1]],
                                                          [-1.0, 0, 1])


def test_rounding_errors_warn():
    X, y = wave(20)
    with pytest.warns(ConvergenceWarning, match="rounding errors are larger"):
        model = SVR(epsilon=1e14).fit(X, y)
    assert model.n_iter_ < model.max_iter


@pytest.mark.parametrize("C", [1e-8, 1e6])
def test_tiny_and_huge_costs_end(C):
    X, y = wave(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVR(C=C, max_iter=200_000).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert len(model.support_) > 0
    assert C > 1 or np.abs(model.dual_coef_).max() == C


def test_one_row_and_equal_rows():
    assert SVR().fit([[1.0, 2.0]], [3.0]).predict([[5.0, 5.0]]) == pytest.approx(3)
    # three readings at one place: with a cost for each, the median one decides
    model = SVR(epsilon=0.0, C=1.0, tol=1e-9).fit([[1.0]] * 3, [0.0, 1.0, 10.0])
    assert model.predict([[1.0]]) == pytest.approx(1.0)


@pytest.mark.parametrize("parameters, error, message", [
    ({"C": 0}, ValueError, "C must be finite and > 0"),
    ({"epsilon": -0.1}, ValueError, "epsilon must be finite and >= 0"),
    ({"epsilon": np.nan}, ValueError, "epsilon must be finite and >= 0"),
    ({"epsilon": "0.1"}, TypeError, "epsilon must be a number"),
    ({"tol": 0}, ValueError, "tol must be"),
    ({"max_iter": 0}, ValueError, "max_iter must be"),
    ({"kernel": "rbf"}, TypeError, "kernel must be a kernel object"),
    ({"kernel": Gaussian(-1)}, ValueError, "gamma must be"),
])
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        SVR(**parameters).fit(*wave(20))
