"""HardMarginSVC held to libsvm, to its two quadratic problems and to geometry."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from mlbook.kernels.hard_margin_svm import (
    HardMarginSVC,
    NotSeparableError,
    QuadraticProblem,
    active_set,
    dual_problem,
    hull_distance,
    primal_problem,
    primal_qp,
    signed_distances,
    support_intercept,
    weights,
)


def separable(seed, n=60):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    y = np.where(X @ direction + 0.3 > 0, 1.0, -1.0)
    return X + 0.1 * y[:, np.newaxis] * direction, y


def setosa():
    X, y = datasets.load_iris(return_X_y=True)
    return X[:100], np.where(y[:100] == 1, 1.0, -1.0)


def grid():
    """Many samples on both edges of the street, so that alpha is not unique."""
    side = np.arange(4.0)
    left = np.array([(x, y) for x in (0, -1) for y in side])
    return np.vstack([left, left * [-1, 1] + [2, 0]]), np.repeat([-1.0, 1.0], 8)


def stretched(factor):
    X, y = separable(3)
    return X * factor + 5 * factor, y


PROBLEMS = {
    **{f"random {seed}": separable(seed) for seed in range(6)},
    "iris, two species": setosa(),
    "many on the edge": grid(),
    "in millions": stretched(1e6),
    "in millionths": stretched(1e-6),
    "two samples": (np.array([[1.0, 2.0], [4.0, 6.0]]), np.array([-1.0, 1.0])),
    "each row three times": tuple(np.repeat(q, 3, axis=0) for q in separable(1)),
    "three rows, 40 columns": (np.random.default_rng(0).normal(size=(3, 40)),
                               np.array([1.0, -1.0, 1.0])),
}
each = pytest.mark.parametrize("name", PROBLEMS)


@each
def test_agrees_with_libsvm_at_a_huge_cost(name):
    X, y = PROBLEMS[name]
    # libsvm's box is in units of 1 / X^2 and its rounding errors grow with the offset
    centred = X - X.mean(axis=0)
    size = np.linalg.norm(centred, axis=1).max()
    lib = SVC(C=1e10, kernel="linear", tol=1e-8).fit(centred / size, y)
    ours = HardMarginSVC(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_ * size, lib.coef_[0], rtol=1e-4,
                               atol=1e-5 * np.abs(lib.coef_).max())
    np.testing.assert_allclose(ours.decision_function(X),
                               lib.decision_function(centred / size), atol=1e-4)
    assert ours.dual_objective_ * size**2 == pytest.approx(
        np.abs(lib.dual_coef_).sum() / 2, rel=1e-5)


def test_agrees_with_a_general_solver_on_the_primal():
    X, y = separable(4, n=25)
    result = minimize(
        lambda u: 0.5 * u[1:] @ u[1:], np.r_[0.0, np.ones(X.shape[1])],
        jac=lambda u: np.r_[0, u[1:]], method="SLSQP",
        constraints=LinearConstraint(y[:, None] * np.column_stack([np.ones(25), X]), 1),
        options={"ftol": 1e-15, "maxiter": 1000})
    ours = HardMarginSVC(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(np.r_[ours.intercept_, ours.coef_], result.x, atol=1e-5)


@each
def test_primal_and_dual_meet(name):
    X, y = PROBLEMS[name]
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    size = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    w, b, alpha = primal_qp(X / size, y)
    np.testing.assert_allclose(w / size, model.coef_, rtol=1e-6,
                               atol=1e-7 * np.abs(model.coef_).max())
    np.testing.assert_allclose(X / size @ w + b, model.decision_function(X), atol=1e-6)
    dual = dual_problem(X / size, y)
    primal = primal_problem(X / size, y)
    value = primal.objective(np.r_[b, w])
    assert value == pytest.approx(-dual.objective(alpha), rel=1e-8)
    assert value == pytest.approx(model.dual_objective_ * size**2, rel=1e-8)
    assert (dual.E @ alpha)[0] == pytest.approx(0, abs=1e-8 * alpha.sum())
    assert alpha.sum() == pytest.approx(w @ w, rel=1e-8)


@each
def test_optimality_conditions(name):
    X, y = PROBLEMS[name]
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    signed = model.dual_coef_
    assert signed.sum() == pytest.approx(0, abs=1e-9 * np.abs(signed).sum())
    assert (signed * y[model.support_] > 0).all()
    np.testing.assert_allclose(signed @ model.support_vectors_, model.coef_,
                               atol=1e-9 * np.abs(model.coef_).max())
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    margin = y * model.decision_function(X)
    assert margin.min() > 1 - 1e-7
    np.testing.assert_allclose(margin[model.support_], 1, atol=1e-7)
    assert np.abs(signed).sum() == pytest.approx(model.coef_ @ model.coef_, rel=1e-6)


@each
def test_the_margin_is_the_nearest_distance_and_half_the_street(name):
    X, y = PROBLEMS[name]
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    # by projection: move each sample onto the boundary and measure how far it went
    w = model.coef_
    step = np.outer(model.decision_function(X) / (w @ w), w)
    np.testing.assert_allclose(model.decision_function(X - step), 0, atol=1e-8)
    nearest = np.linalg.norm(step, axis=1).min()
    assert model.margin_ == pytest.approx(nearest, rel=1e-7)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w), rel=1e-6)


def test_no_other_hyperplane_has_a_wider_street():
    X, y = separable(2)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    rng = np.random.default_rng(0)
    for scale in np.geomspace(1e-3, 1, 200):
        w = model.coef_ + scale * rng.normal(size=X.shape[1])
        score = X @ w / np.linalg.norm(w)
        width = score[y > 0].min() - score[y < 0].max()
        assert width <= 2 * model.margin_ * (1 + 1e-7)


def test_by_hand():
    """Only the nearest sample of each class decides."""
    X = np.array([[2.0, 2.0], [4.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
    y = np.array([1, 1, -1, -1])
    model = HardMarginSVC(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, [0.5, 0.5], atol=1e-9)
    assert model.intercept_ == pytest.approx(-1)
    alpha = np.zeros(4)
    alpha[model.support_] = np.abs(model.dual_coef_)
    # alpha = (1/4, 0, 1/4, 0): the second lies on the edge and has no say
    np.testing.assert_allclose(alpha, [0.25, 0, 0.25, 0], atol=1e-9)
    assert model.margin_ == pytest.approx(np.sqrt(2))
    assert model.dual_objective_ == pytest.approx(0.25)


def test_samples_behind_the_edge_have_no_say():
    X, y = separable(5)
    model = HardMarginSVC(tol=1e-9).fit(X, y)
    far = y * model.decision_function(X) > 1.01
    assert 0 < far.sum() < len(X) - 1
    rest = HardMarginSVC(tol=1e-9).fit(X[~far], y[~far])
    np.testing.assert_allclose(rest.coef_, model.coef_, atol=1e-6)
    assert rest.intercept_ == pytest.approx(model.intercept_, abs=1e-6)


def test_turning_shifting_and_scaling_the_data_turns_the_street():
    X, y = separable(0)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1],) * 2))[0]
    shift = np.arange(X.shape[1]) * 100.0
    one = HardMarginSVC(tol=1e-9).fit(X, y)
    two = HardMarginSVC(tol=1e-9).fit(7 * X @ Q + shift, y)
    np.testing.assert_allclose(two.coef_, one.coef_ @ Q / 7, atol=1e-7)
    assert two.margin_ == pytest.approx(7 * one.margin_)
    np.testing.assert_allclose(np.sort(np.abs(two.dual_coef_)),
                               np.sort(np.abs(one.dual_coef_)) / 49, rtol=1e-4)


def test_exchanging_the_classes_changes_the_sign():
    X, y = separable(1)
    one, two = (HardMarginSVC(tol=1e-9).fit(X, q) for q in (y, -y))
    np.testing.assert_allclose(two.coef_, -one.coef_, atol=1e-7)
    assert two.intercept_ == pytest.approx(-one.intercept_, abs=1e-7)


# Where there is no street


def overlapping(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(80, 3)), rng.integers(0, 2, 80)


NOT_SEPARABLE = {
    "overlapping": overlapping(0),
    "one flipped label": (separable(0)[0], np.r_[-separable(0)[1][:1],
                                                 separable(0)[1][1:]]),
    "two species of iris": tuple(
        q[50:] for q in datasets.load_iris(return_X_y=True)),
    "exclusive or": (np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), [0, 0, 1, 1]),
    "alternating on a line": (np.arange(4.0)[:, np.newaxis], [0, 1, 0, 1]),
    "equal samples, opposite labels": (np.array([[0.0], [1], [1], [3]]), [0, 0, 1, 1]),
    "all samples equal": (np.ones((4, 2)), [0, 0, 1, 1]),
    "a sample on the edge of the other hull": (
        np.array([[0.0, 0], [2, 0], [1, 0], [1, 5]]), [0, 0, 1, 1]),
    "breast cancer": datasets.load_breast_cancer(return_X_y=True),
}


@pytest.mark.parametrize("name", NOT_SEPARABLE)
def test_an_error_says_that_no_street_exists(name):
    X, y = NOT_SEPARABLE[name]
    with pytest.raises(ValueError, match="not linearly separable.*Use SVC"):
        HardMarginSVC().fit(X, y)
    sign = np.where(np.asarray(y) == np.max(y), 1.0, -1.0)
    with pytest.raises(NotSeparableError):
        primal_qp(np.asarray(X, dtype=float), sign)


@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-3])
def test_a_narrow_street_is_found(width):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] *= 0.0
    X[:, 0] += y * width / 2 + 0.3 * X[:, 1]
    model = HardMarginSVC().fit(X, y)
    assert 2 * model.margin_ == pytest.approx(width / np.sqrt(1 + 0.3**2), rel=1e-3)


def test_no_street_is_wider_than_the_hull_distance():
    """For any multipliers, so that a street is never overlooked."""
    X, y = separable(3)
    street = 2 * HardMarginSVC().fit(X, y).margin_
    rng = np.random.default_rng(0)
    for _ in range(200):
        alpha = rng.exponential(size=len(y)) ** 4
        alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
        means = [alpha[y == s] @ X[y == s] / alpha[y == s].sum() for s in (1, -1)]
        distance = hull_distance(alpha, y, X)
        assert distance == pytest.approx(np.linalg.norm(means[0] - means[1]))
        assert distance >= street * (1 - 1e-6)


def test_the_hull_distance_is_the_street_at_the_optimum():
    X, y = separable(3)
    _, _, alpha = primal_qp(X, y)
    street = 2 * HardMarginSVC(tol=1e-10).fit(X, y).margin_
    assert hull_distance(alpha, y, X) == pytest.approx(street)


def test_iteration_limit_warns():
    X, y = separable(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        HardMarginSVC(max_iter=3).fit(X, y)


@pytest.mark.parametrize("labels, message", [
    ([0, 0, 0], "one class"), ([0, 1, 2], "3 classes")])
def test_two_classes_are_needed(labels, message):
    with pytest.raises(ValueError, match=message):
        HardMarginSVC().fit([[0.0], [1.0], [2.0]], labels)


@pytest.mark.parametrize("parameters", [{"tol": 0}, {"tol": np.nan}, {"max_iter": 0}])
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        HardMarginSVC(**parameters).fit(*separable(0))


# The active set


@pytest.mark.parametrize("seed", range(8))
def test_active_set_on_general_problems(seed):
    """Positive definite Q, no constraint at first; held to a general solver."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(5, 5))
    problem = QuadraticProblem(B @ B.T + np.eye(5), 9 * rng.normal(size=5),
                               rng.normal(size=(12, 5)), rng.normal(size=12) - 1)
    u, multipliers = active_set(problem, [])
    reference = minimize(
        problem.objective, np.zeros(5), method="SLSQP",
        constraints=LinearConstraint(problem.A, problem.c),
        options={"ftol": 1e-15, "maxiter": 1000})
    assert problem.objective(u) == pytest.approx(reference.fun, abs=1e-8)
    slack = problem.A @ u - problem.c
    assert slack.min() > -1e-8 and multipliers.min() >= 0
    assert np.abs(slack * multipliers).max() < 1e-8
    np.testing.assert_allclose(problem.Q @ u + problem.p, problem.A.T @ multipliers,
                               atol=1e-8)
    assert (multipliers > 0).any()


def test_active_set_drops_a_constraint_that_stops_mattering():
    """The first two samples make a street; the third shows that one of them is idle."""
    X = np.array([[2.0, 3.0], [-2.0, -3.0], [1.0, 0.0], [-1.0, 0.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    w, b, alpha = primal_qp(X, y)
    np.testing.assert_allclose(w, [1, 0], atol=1e-12)
    np.testing.assert_allclose(alpha, [0, 0, 0.5, 0.5], atol=1e-12)


def test_active_set_refuses_a_start_that_is_none():
    X = np.array([[2.0, 3.0], [-2.0, -3.0], [1.0, 0.0], [-1.0, 0.0]])
    problem = primal_problem(X, np.array([1.0, -1.0, 1.0, -1.0]))
    with pytest.raises(ValueError, match="do not determine a minimum"):
        active_set(problem, [0, 0])
    with pytest.raises(ValueError, match="a negative multiplier"):
        active_set(problem, [0, 2, 3])


# The parts that fit is made of


def test_parts_by_hand():
    X, y = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, -1.0])
    alpha = np.full(2, 0.08)  # 2 / 25
    w = weights(alpha, y, X)
    np.testing.assert_allclose(w, [0.24, 0.32])
    b = support_intercept(alpha, y, X, w)
    assert b == pytest.approx(-1)
    np.testing.assert_allclose(signed_distances(X, w, b), [2.5, -2.5])
    assert hull_distance(alpha, y, X) == pytest.approx(5)


# scikit-learn's checks that fit inseparable classes, run on separable labels instead


class Relabelled(HardMarginSVC):
    """Keeps all that fit checks, then trades labels no hyperplane separates."""

    def _check_fit_data_and_target(self, X, y, sample_weight=None):
        X, codes, weight = super()._check_fit_data_and_target(X, y, sample_weight)
        direction = np.random.default_rng(0).normal(size=X.shape[1])
        order = np.argsort(X @ direction)
        if len(self.classes_) == 2:
            widest = np.diff((X @ direction)[order]).argmax()
            codes = np.zeros_like(codes)
            codes[order[widest + 1:]] = 1
        return X, codes, weight


ACCURACY = {"check_classifiers_train": "it counts how many labels are predicted"}


@parametrize_with_checks([Relabelled()], expected_failed_checks=lambda _: ACCURACY)
def test_scikit_learn_checks_on_separable_labels(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of the checks is skipped
    check(estimator)


def test_data_frame_columns_on_separable_labels():
    check_dataframe_column_names_consistency("Relabelled", Relabelled())
