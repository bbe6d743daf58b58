"""SVC held to libsvm, to its own optimality conditions and to problems done by hand."""

import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as LibSVC

from mlbook.kernels.hard_margin_svm import HardMarginSVC
from mlbook.kernels.kernel_functions import Gaussian, Linear, Polynomial
from mlbook.kernels.soft_margin_svm import (
    SVC,
    default_kernel,
    expansion,
    hinge_objective,
    one_vs_one_scores,
    solve_svm,
)

LIB = {
    "linear": (Linear(), {"kernel": "linear"}),
    "quadratic": (Polynomial(2, gamma=0.1),
                  {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0}),
    "gaussian": (Gaussian(0.1), {"kernel": "rbf", "gamma": 0.1}),
}


def blobs(n, **options):
    return datasets.make_classification(
        n, 6, n_informative=4, flip_y=0.1, random_state=1, **options)


def repeated():
    X, y = blobs(60)
    return np.repeat(X, 3, axis=0), np.concatenate([y.repeat(3)[:-20], 1 - y[-7:],
                                                    y.repeat(3)[-13:]])


def stretched(factor):
    X, y = blobs(150)
    return X * np.array([1, 1, factor, 1, 1, 1]), y


PROBLEMS = {
    "linear, C=0.01": (*blobs(200), "linear", 0.01),
    "linear, C=1": (*blobs(200), "linear", 1.0),
    "quadratic, C=1": (*blobs(200), "quadratic", 1.0),
    "quadratic, C=10": (*blobs(120), "quadratic", 10.0),
    "gaussian, C=1": (*blobs(300), "gaussian", 1.0),
    "gaussian, C=1000": (*blobs(200), "gaussian", 1000.0),
    "duplicates": (*repeated(), "gaussian", 10.0),
    "unbalanced": (*blobs(300, weights=[0.95]), "gaussian", 10.0),
    "a feature times 1000": (*stretched(1e3), "gaussian", 1.0),
    "a feature over 1000": (*stretched(1e-3), "linear", 1.0),
}


def fit_both(name, tol=1e-6):
    X, y, kind, C = PROBLEMS[name]
    kernel, options = LIB[kind]
    ours = SVC(C=C, kernel=kernel, tol=tol).fit(X, y)
    return X, y, C, ours, LibSVC(C=C, tol=tol, **options).fit(X, y)


def lib_objective(lib, kernel):
    a = lib.dual_coef_[0]
    return np.abs(a).sum() - 0.5 * a @ kernel(lib.support_vectors_) @ a


@pytest.mark.parametrize("name", PROBLEMS)
def test_agrees_with_libsvm(name):
    X, _, _, ours, lib = fit_both(name)
    objective = lib_objective(lib, ours.kernel_)
    assert ours.dual_objective_[0] == pytest.approx(objective, rel=1e-6)
    gap = np.abs(ours.decision_function(X) - lib.decision_function(X)).max()
    assert gap <= 1e-3


def test_the_problems_are_hard_enough_to_tell():
    """At a hundredth of the tolerances above some problem must differ."""
    gaps = [np.abs(ours.decision_function(X) - lib.decision_function(X)).max()
            for X, _, _, ours, lib in map(fit_both, PROBLEMS)]
    assert max(gaps) > 1e-5


@pytest.mark.parametrize("name", PROBLEMS)
def test_kkt_conditions_and_duality_gap(name):
    X, y, C, model, _ = fit_both(name)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert abs(sign @ alpha) < 1e-8 * C * len(X)
    assert ((alpha >= 0) & (alpha <= C)).all()
    margin = sign * model.decision_function(X)
    assert margin[alpha == 0].min(initial=1) > 1 - 1e-5
    assert margin[alpha == C].max(initial=1) < 1 + 1e-5
    free = (alpha > 0) & (alpha < C)
    assert np.abs(margin[free] - 1).max(initial=0) < 1e-5
    weights = model.dual_coef_[0]
    norm = weights @ model.kernel_(model.support_vectors_) @ weights
    primal = 0.5 * norm + C * np.maximum(0, 1 - margin).sum()
    assert primal == pytest.approx(model.dual_objective_[0], rel=1e-5)


def test_a_point_on_the_wrong_side_by_hand():
    X, y = [[0.0], [1], [3], [4], [3]], [-1, -1, 1, 1, -1]
    model = SVC(C=1, kernel=Linear(), tol=1e-10).fit(X, y)
    weight = model.dual_coef_[0] @ model.support_vectors_[:, 0]
    alpha = np.zeros(5)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert weight == pytest.approx(2 / 3, abs=1e-9)
    assert model.intercept_[0] == pytest.approx(-5 / 3, abs=1e-9)
    np.testing.assert_allclose(alpha[[2, 4]], 1)


def linear(X, y, C, tol=1e-10):
    """w, b and the multipliers of all rows, for labels +-1."""
    model = SVC(C=C, kernel=Linear(), tol=tol).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return model.dual_coef_[0] @ model.support_vectors_, model.intercept_[0], alpha


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_agrees_with_a_general_solver_on_the_primal_with_slacks(C):
    X, labels = blobs(40)
    y = np.where(labels == 1, 1.0, -1.0)
    n, d = X.shape
    A = np.column_stack([y[:, None] * X, y, np.eye(n)])  # variables w, b, xi
    reference = minimize(
        lambda u: 0.5 * u[:d] @ u[:d] + C * u[d + 1:].sum(),
        np.r_[np.zeros(d + 1), np.ones(n)],
        jac=lambda u: np.r_[u[:d], 0, np.full(n, C)], method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints=LinearConstraint(A, 1), options={"ftol": 1e-13, "maxiter": 2000})
    w, b, _ = linear(X, y, C)
    np.testing.assert_allclose(w, reference.x[:d], atol=1e-4)
    assert hinge_objective(w, b, X, y, C) == pytest.approx(reference.fun, rel=1e-7)


def test_no_other_line_has_a_smaller_hinge_objective():
    X, labels = blobs(60)
    y = np.where(labels == 1, 1.0, -1.0)
    w, b, _ = linear(X, y, 1.0)
    best = hinge_objective(w, b, X, y, 1.0)
    rng = np.random.default_rng(0)
    for size in np.geomspace(1e-4, 1, 300):
        dw, db = size * rng.normal(size=len(w)), size * rng.normal()
        assert hinge_objective(w + dw, b + db, X, y, 1.0) >= best - 1e-9


@pytest.mark.parametrize("C", [0.01, 1.0, 5.0])
def test_the_slacks_bound_the_errors_and_the_support_vectors_those_left_out(C):
    X, labels = blobs(40)
    y = np.where(labels == 1, 1.0, -1.0)
    w, b, alpha = linear(X, y, C, tol=1e-6)
    value = y * (X @ w + b)
    assert (value <= 0).sum() <= np.maximum(0, 1 - value).sum()
    wrong = 0
    for k in range(len(X)):
        rest = np.arange(len(X)) != k
        w, b, _ = linear(X[rest], y[rest], C, tol=1e-6)
        wrong += y[k] * (X[k] @ w + b) <= 0
    assert wrong <= (alpha > 0).sum()


def test_a_cost_that_no_multiplier_reaches_gives_the_hard_margin():
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[:100], np.where(y[:100] == 1, 1.0, -1.0)
    w, b, alpha = linear(X, y, C=1e4)
    assert alpha.max() < 1e4
    hard = HardMarginSVC(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(w, hard.coef_, atol=1e-7)
    assert b == pytest.approx(hard.intercept_, abs=1e-7)


def test_a_tiny_cost_puts_every_multiplier_on_the_edge():
    """Then w = C (sum of one class - sum of the other), whatever the solver does."""
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[:100], np.where(y[:100] == 1, 1.0, -1.0)
    w, _, alpha = linear(X, y, C=1e-5)
    np.testing.assert_array_equal(alpha, 1e-5)
    np.testing.assert_allclose(w, 1e-5 * y @ X)


def test_a_tiny_cost_with_classes_of_unequal_size():
    """All of the small class and as much of the large one as balances it; the large
    class wins everywhere."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([-1.0, 1.0], [30, 10])
    w, b, alpha = linear(X, y, C=1e-4)
    np.testing.assert_array_equal(alpha[30:], 1e-4)
    assert alpha[:30].sum() == pytest.approx(10 * 1e-4)
    assert b == pytest.approx(-1, abs=0.01) and (X @ w + b < 0).all()


@pytest.mark.parametrize(("C", "b"), [(0.05, -1.075), (1 / 9, -7 / 6)])
def test_the_middle_of_the_interval_by_hand(C, b):
    """Five points with no price strictly in the box: w = 3 C, b between two wishes."""
    X, y = np.array([[0.0], [1], [3], [4], [3]]), np.array([-1.0, -1, 1, 1, -1])
    w, intercept, alpha = linear(X, y, C)
    assert set(alpha) <= {0.0, C} and alpha.sum() == pytest.approx(4 * C)
    assert w[0] == pytest.approx(3 * C)
    assert intercept == pytest.approx(b, abs=1e-12)
    best = hinge_objective(w, b, X, y, C)
    half = {0.05: 0.075, 1 / 9: 1 / 6}[C]  # of the interval of optimal b
    for shift in (-half, half):
        assert hinge_objective(w, b + shift, X, y, C) == pytest.approx(best, abs=1e-12)
        assert hinge_objective(w, b + 1.1 * shift, X, y, C) > best + 1e-4


def test_leave_one_out_bound_needs_a_free_support_vector():
    """Five errors with four support vectors, all at C, and a fifth point at price 0."""
    X, y = np.array([[1.0], [2], [1], [2], [3]]), np.array([-1.0, -1, 1, 1, 1])
    _, _, alpha = linear(X, y, 0.5)
    np.testing.assert_array_equal(alpha, [0.5, 0.5, 0.5, 0.5, 0])
    wrong = 0
    for k in range(5):
        rest = np.arange(5) != k
        w, b, _ = linear(X[rest], y[rest], 0.5)
        wrong += y[k] * (X[k] @ w + b) <= 1e-9
    assert wrong == 5


def test_second_order_takes_fewer_steps_than_first_order():
    """Forty apples of the page: 41 steps; by the largest V_i - V_j alone it takes 66,
    with V_i - V_j not squared 54."""
    rng = np.random.default_rng(4)
    X = np.round(4 * np.vstack([rng.normal([11.0, 7.5], [1, 0.8], size=(20, 2)),
                                rng.normal([13.0, 6], [1, 0.8], size=(20, 2))])) / 4
    y = np.repeat([-1, 1], 20)
    assert SVC(C=1, kernel=Linear(), tol=1e-6).fit(X, y).n_iter_[0] < 50


def test_two_samples_by_hand():
    """alpha = min(C, 2 / |x_1 - x_2|^2), b = -w'(x_1 + x_2) / 2, at the edge too."""
    X, y = np.array([[1.0, 2], [3, 3]]), np.array([1.0, -1])
    for C, alpha in ((10.0, 0.4), (0.1, 0.1)):
        found = solve_svm(Linear(), X, y, np.full(2, C), 1e-9, 100)
        np.testing.assert_allclose(found.alpha, alpha)
        w = alpha * (X[0] - X[1])
        assert found.intercept == pytest.approx(-w @ X.sum(axis=0) / 2)


def test_equal_points_with_opposite_labels_both_reach_the_edge():
    X = np.array([[0.0, 0], [0, 0], [1, 0], [3, 0], [3, 0], [4, 1]])
    y = np.array([-1, -1, -1, 1, -1, 1])
    model = SVC(C=2, kernel=Linear(), tol=1e-9, max_iter=500).fit(X, y)
    alpha = np.zeros(6)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_array_equal(alpha[[3, 4]], 2)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("shift", [1, 5, 12])
def test_the_order_of_the_rows_does_not_matter(shift):
    X, y = blobs(30)
    order = np.roll(np.arange(30), shift)
    one, two = (SVC(kernel=Gaussian(0.2), tol=1e-8, max_iter=3000).fit(*data)
                for data in ((X, y), (X[order], y[order])))
    np.testing.assert_allclose(two.decision_function(X), one.decision_function(X),
                               atol=1e-6)


def test_default_kernel_is_scikit_learns_and_counts_weights():
    X, y = blobs(80)
    assert default_kernel(X).gamma == pytest.approx(1 / (6 * X.var()))
    counts = np.random.default_rng(0).integers(1, 4, 80)
    assert default_kernel(X, counts).gamma == pytest.approx(
        default_kernel(np.repeat(X, counts, axis=0)).gamma)
    assert SVC().fit(X, y, counts).kernel_.gamma == default_kernel(X, counts).gamma
    assert SVC().fit(X, y).kernel_.gamma != default_kernel(X, counts).gamma
    ours, lib = SVC(tol=1e-8).fit(X, y), LibSVC(gamma="scale", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), lib.decision_function(X),
                               atol=1e-5)


@pytest.mark.parametrize("X", [
    np.full((7, 3), 0.1), np.full((1000, 1), 1e9 / 3), np.zeros((3, 2)),
])
def test_default_kernel_of_constant_data(X):
    assert default_kernel(X).gamma == 1
    # what has no weight does not count
    weight = np.r_[0.0, np.ones(len(X))]
    assert default_kernel(np.vstack([X[:1] + 1, X]), weight).gamma == 1
    assert type(default_kernel(X).gamma) is float


def test_default_kernel_far_from_the_origin():
    X = np.array([[0.0], [1], [3], [4]])
    assert default_kernel(X + 2.0**40).gamma == pytest.approx(1 / 2.5, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-170, 1e-160, 1e170])
def test_default_kernel_of_data_too_small_or_large(scale):
    X, y = blobs(20)
    with pytest.raises(ValueError, match="scale the features"):
        default_kernel(scale * X)
    with pytest.raises(ValueError, match="scale the features"):
        SVC().fit(scale * X, y)


def test_default_kernel_refuses_nan():
    with pytest.raises(ValueError, match="contains NaN"):
        default_kernel([[0.0], [np.nan]])


def test_the_kernel_is_copied():
    X, y = blobs(60)
    kernel = Gaussian(0.1)
    model = SVC(kernel=kernel).fit(X, y)
    before = model.decision_function(X)
    kernel.gamma = 5.0
    assert model.kernel_ is not kernel
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_tolerance_decides_when_it_ends():
    X, y = blobs(100)
    coarse, fine = (SVC(kernel=Gaussian(0.1), tol=tol).fit(X, y)
                    for tol in (1e-1, 1e-8))
    assert coarse.n_iter_[0] < fine.n_iter_[0] < fine.max_iter


def test_cache_bytes_bound_the_rows_kept():
    """With room for two rows each, more rows are computed; the answer is the same."""
    X, labels = blobs(60)
    y = np.where(labels == 1, 1.0, -1.0)
    counts, found = [], []
    for cache_bytes in (0, 2 * 8 * 60 * 60):
        calls = []

        class Counting(Gaussian):
            def _rows(self, X, calls=calls):
                row = super()._rows(X)
                return lambda i: calls.append(i) or row(i)

        found.append(solve_svm(Counting(0.1), X, y, np.ones(60), 1e-6, 10_000,
                               cache_bytes))
        counts.append(len(calls))
    assert counts[1] <= 60 < counts[0]
    np.testing.assert_array_equal(found[0].alpha, found[1].alpha)


def test_a_point_on_the_border_is_of_the_first_class():
    """w'x + b = 0 there: no vote for the second."""
    model = SVC(C=10, kernel=Linear(), tol=1e-9).fit([[-1.0], [1]], ["low", "top"])
    np.testing.assert_array_equal(model.decision_function([[0.0]]), [0])
    assert model.predict([[0.0]])[0] == "low"
    np.testing.assert_array_equal(one_vs_one_scores([[0.0, 0, 0]], 3), [[2, 1, 0]])


def test_three_classes_as_libsvm():
    X, y = datasets.load_iris(return_X_y=True)
    ours = SVC(C=5, kernel=Gaussian(0.3), tol=1e-8).fit(X, y)
    lib = LibSVC(C=5, gamma=0.3, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    # libsvm's pairs speak for the first class
    np.testing.assert_allclose(ours.pairwise_decision_function(X),
                               -lib.decision_function(X), atol=1e-3)
    shape = LibSVC(C=5, gamma=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), shape.decision_function(X),
                               atol=1e-3)
    pairs = [(ours.dual_coef_[k] @ ours.kernel_(ours.support_vectors_)
              @ ours.dual_coef_[k]) for k in range(3)]
    np.testing.assert_allclose(
        ours.dual_objective_,
        np.abs(ours.dual_coef_).sum(axis=1) - 0.5 * np.array(pairs), rtol=1e-9)
    assert len(set(ours.dual_objective_.round(3))) == 3
    assert (ours.predict(X) == ours.classes_[
        ours.decision_function(X).argmax(axis=1)]).all()


def test_equal_votes_go_to_the_more_confident_class():
    # 0 beats 1 narrowly, 1 beats 2 narrowly, 2 beats 0 clearly: one vote each
    scores = one_vs_one_scores(np.array([[-0.1, 5.0, -0.1]]), 3)
    assert scores.argmax() == 2
    assert np.floor(scores + 0.5).tolist() == [[1, 1, 1]]


def test_confidence_never_outweighs_a_vote():
    # class 0 wins both its pairs by a hair, class 1 loses to it and wins hugely
    scores = one_vs_one_scores(np.array([[-1e-9, -1e-9, -1e9]]), 3)
    assert scores.argmax() == 0


def test_weights_scale_the_box():
    X, y = blobs(120)
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    weight[:2] = [0, 0]
    weighted = SVC(C=0.7, kernel=Gaussian(0.1), tol=1e-8).fit(X, y, weight)
    repeat = np.repeat(np.arange(len(X)), weight.astype(int))
    repeated_ = SVC(C=0.7, kernel=Gaussian(0.1), tol=1e-8).fit(X[repeat], y[repeat])
    np.testing.assert_allclose(weighted.decision_function(X),
                               repeated_.decision_function(X), atol=1e-5)
    lib = LibSVC(C=0.7, gamma=0.1, tol=1e-8).fit(X, y, weight)
    np.testing.assert_allclose(weighted.decision_function(X),
                               lib.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("values", "n_classes", "message"), [
    ([[1.0, 2]], 3, "each of the 3 pairs of 3 classes, got shape"),
    ([[1.0, 2, 3, 4]], 3, "each of the 3 pairs"), ([1.0, 2, 3], 3, "each of the 3"),
    ([[1.0, np.nan, 3]], 3, "contains NaN"), ([[1.0, np.inf, 3]], 3, "infinity"),
    ([[1.0]], 1, "n_classes must be"),
])
def test_one_vs_one_scores_refuses(values, n_classes, message):
    with pytest.raises(ValueError, match=message):
        one_vs_one_scores(values, n_classes)


def test_one_vs_one_scores_of_huge_values():
    scores = one_vs_one_scores([[1.7e308, 1.7e308, 1.7e308]], 3)
    np.testing.assert_allclose(scores, [[-1 / 3, 1, 2 + 1 / 3]])


def test_iteration_limit_warns():
    X, y = blobs(100)
    with pytest.warns(ConvergenceWarning, match="1 ended at max_iter=5"):
        model = SVC(max_iter=5).fit(X, y)
    assert model.n_iter_.tolist() == [5]


def test_the_warning_counts_all_pairs():
    """Classes 0 and 1 are done in one step, those with class 2 are not."""
    X = np.array([[0.0], [1], [4], [2], [5], [3], [2.5], [4.5]])
    y = np.array([0, 1, 2, 2, 2, 1, 2, 1])
    X, y = np.vstack([X[:1], X]), np.r_[0, y]
    limit = SVC(kernel=Linear(), C=5).fit(X, y).n_iter_
    assert limit[0] < limit[2]
    with pytest.warns(ConvergenceWarning, match="in 1 of 3 problems: 1 ended at"):
        SVC(kernel=Linear(), C=5, max_iter=int(limit[:2].max())).fit(X, y)


def test_features_far_from_the_origin_warn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(ConvergenceWarning, match="1 by rounding errors; .* Centre and"):
        SVC(kernel=Linear()).fit(X + 1e9, y)
    SVC(kernel=Linear()).fit(X + 1e4, y)  # no warning


@pytest.mark.parametrize("parameters, message", [
    ({"C": 0}, "C must be finite and > 0"), ({"C": np.inf}, "C must be finite and > 0"),
    ({"tol": 0}, "tol must be"), ({"max_iter": 0}, "max_iter must be"),
    ({"kernel": Gaussian(-1)}, "gamma must be"),
])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(*blobs(20))


@pytest.mark.parametrize(("y", "weight", "shown"), [
    ([1, 1], None, "1"), (["a", "a"], None, "'a'"), ([0, 1], [1, 0], "0"),
])
def test_one_class_is_refused(y, weight, shown):
    with pytest.raises(ValueError, match=f"one class: {shown} .rows of weight 0"):
        SVC().fit([[0.0], [1.0]], y, weight)


@pytest.mark.parametrize(("C", "weight"), [(1e-200, 1e-200), (1e200, 1e200)])
def test_a_box_out_of_range_is_refused(C, weight):
    with pytest.raises(ValueError, match="C times sample_weight must be finite"):
        SVC(C=C).fit([[0.0], [1], [2]], [0, 1, 1], [1.0, 1, weight])


def test_no_nan_leaves_the_prediction():
    X, y = blobs(40)
    model = SVC(kernel=Linear()).fit(X, y)
    for predict in (model.decision_function, model.predict):
        with pytest.raises(ValueError, match="overflows on these points"):
            predict(X * 1e307)
    with pytest.raises(ValueError, match="sum of Linear.* overflows on these points"):
        expansion(Linear(), np.ones((1, 1)), np.ones((2, 1)), np.array([1e308, 1e308]))


@pytest.mark.parametrize(("changes", "message"), [
    ({"w": [1.0]}, "must have shape"), ({"y": [1.0]}, "must have shape"),
    ({"y": [[1.0], [-1]]}, "must have shape"), ({"y": [1.0, 0]}, "labels"),
    ({"C": -1}, "C must be"), ({"b": np.nan}, "b must be"),
    ({"X": [[1.0, np.nan], [0, 0]]}, "contains NaN"), ({"w": [1e200, 0]}, "overflows"),
])
def test_hinge_objective_refuses(changes, message):
    arguments = {"w": [1.0, 2], "b": 0.5, "X": [[1.0, 0], [0, 1]], "y": [1.0, -1],
                 "C": 2.0}
    assert hinge_objective(**arguments) == pytest.approx(2.5 + 2 * 3.5)
    with pytest.raises(ValueError, match=message):
        hinge_objective(**arguments | changes)


@pytest.mark.parametrize("C", [1e-6, 1e8])
def test_tiny_and_huge_costs_end(C):
    X, y = blobs(40)
    model = SVC(C=C, kernel=Gaussian(1.0), max_iter=200_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_prediction_in_blocks_equals_prediction_at_once(monkeypatch):
    X, y = blobs(100)
    model = SVC(kernel=Gaussian(0.1)).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr("mlbook.kernels.soft_margin_svm.PAIRS_IN_MEMORY", 300)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)


def test_support_counts_the_rows_of_weight_0():
    X = np.array([[9.0], [0.0], [1.0], [9.0], [3.0], [4.0]])
    model = SVC(kernel=Linear()).fit(X, [1, 0, 0, 0, 1, 1], [0, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
