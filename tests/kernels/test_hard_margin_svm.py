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
    solve_dual,
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
    w, b, alpha = primal_qp(X, y)
    np.testing.assert_allclose(w, model.coef_, rtol=1e-6,
                               atol=1e-7 * np.abs(model.coef_).max())
    np.testing.assert_allclose(X @ w + b, model.decision_function(X), atol=1e-6)
    w, alpha = w * size, alpha * size**2
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


def test_the_default_tolerance_is_met():
    """An optimum without a third of its digits would differ in the fifth."""
    for seed in range(6):
        X, y = separable(seed)
        model = HardMarginSVC().fit(X, y)
        assert (y * model.decision_function(X)).min() > 1 - 2e-6
        np.testing.assert_allclose(model.coef_, primal_qp(X, y)[0], rtol=1e-5)
        assert HardMarginSVC(tol=1e-1).fit(X, y).n_iter_ < model.n_iter_


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


def test_a_sample_on_the_boundary_belongs_to_the_first_class():
    model = HardMarginSVC().fit([[-1.0], [1.0]], ["left", "right"])
    assert model.decision_function([[0.0]]) == 0
    assert model.predict([[0.0], [1e-9]]).tolist() == ["left", "right"]


@pytest.mark.parametrize(
    "factor, shift", [(1e-6, 0), (1, 1e5), (1e130, 0), (1e-130, 0)])
def test_neither_solver_minds_the_unit_or_the_origin(factor, shift):
    X, y = separable(3)
    w, b, alpha = primal_qp(X, y)
    moved_w, moved_b, moved_alpha = primal_qp(factor * X + shift, y)
    np.testing.assert_allclose(moved_w * factor, w, rtol=1e-8)
    assert moved_b == pytest.approx(b - (moved_w * shift).sum(), rel=1e-8)
    np.testing.assert_allclose(moved_alpha * factor**2, alpha, rtol=1e-7, atol=1e-9)
    model = HardMarginSVC(tol=1e-9).fit(factor * X + shift, y)
    np.testing.assert_allclose(model.coef_ * factor, w, rtol=1e-6)
    assert model.margin_ / factor == pytest.approx(1 / np.linalg.norm(w))


def test_two_samples_a_hundredth_apart_in_a_thousand():
    w, b, alpha = primal_qp([[1000.0], [1000.01]], [-1, 1])
    assert w == pytest.approx([200]) and b == pytest.approx(-200_001)
    np.testing.assert_allclose(alpha, 20_000)


@pytest.mark.parametrize("factor", [1e155, 1e-200, 1e307])
def test_a_size_whose_square_leaves_float64_is_refused(factor):
    X, y = separable(3)
    for solver in (HardMarginSVC().fit, primal_qp):
        with pytest.raises(ValueError, match="rescale X") as caught:
            solver(X * factor, y)
        assert not isinstance(caught.value, NotSeparableError)


@pytest.mark.parametrize("size", [0.9e140, 1.1e-140])
def test_the_largest_and_the_smallest_size(size):
    X = np.array([[-size], [size]])
    model = HardMarginSVC().fit(X, [0, 1])
    assert model.margin_ == pytest.approx(size)
    assert model.coef_ * size == pytest.approx(1)
    assert primal_qp(X, [-1, 1])[0] * size == pytest.approx(1)


@pytest.mark.parametrize("size", [1.1e140, 0.9e-140])
def test_a_size_beyond_them_is_refused(size):
    for solver in (HardMarginSVC().fit, primal_qp):
        with pytest.raises(ValueError, match=r"size of (1\.1e\+140|9e-141).*rescale"):
            solver([[-size], [size]], [-1, 1])


def test_a_size_that_overflows_is_called_infinite():
    with pytest.raises(ValueError, match="a size of inf.*rescale X"):
        HardMarginSVC().fit([[1e308], [-1e308]], [0, 1])


def test_a_constant_column_changes_nothing():
    """Its mean is rounded, and what is left must not count as the data's size."""
    X, y = separable(2)
    wide = np.column_stack([X, np.full(len(X), 1e15 / 3)])
    model = HardMarginSVC(tol=1e-9).fit(wide, y)
    np.testing.assert_allclose(model.coef_, np.r_[primal_qp(X, y)[0], 0], rtol=1e-6)


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
    with pytest.raises(NotSeparableError,
                       match="not linearly separable.*Use SVC.*standardise"):
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


def test_the_narrowest_street():
    """It is 1e-4 of the largest distance from the mean, however soon it is found."""
    y = np.array([-1, -1, 1, 1])
    wide, narrow = (np.array([[-width / 2], [-1], [width / 2], [1]])
                    for width in (1.1e-4, 0.9e-4))
    model = HardMarginSVC().fit(wide, y)
    assert model.margin_ == pytest.approx(0.55e-4)
    assert model.n_iter_ == 1
    with pytest.raises(NotSeparableError):
        HardMarginSVC().fit(narrow, y)
    assert 2 / primal_qp(narrow, y)[0] == pytest.approx([0.9e-4])


def test_one_sample_far_away_makes_the_data_large():
    X = np.r_[-np.ones(200), np.ones(200), 1e5][:, np.newaxis]
    y = np.repeat([0, 1], [200, 201])
    with pytest.raises(NotSeparableError):
        HardMarginSVC().fit(X, y)
    X[-1] = 1e4
    assert HardMarginSVC().fit(X, y).margin_ == pytest.approx(1)


def test_a_fit_that_finds_no_street_leaves_the_old_model():
    X, y = separable(0)
    model = HardMarginSVC().fit(X, y)
    before = {name: np.copy(value) for name, value in vars(model).items()}
    for bad in (overlapping(0), (X * 1e200, y), (X, np.ones(len(y)))):
        with pytest.raises(ValueError):
            model.fit(*bad)
        assert set(vars(model)) == set(before)
        for name, value in before.items():
            np.testing.assert_array_equal(getattr(model, name), value)


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


def test_iteration_limit_warns_the_caller_of_fit():
    X, y = separable(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=3") as caught:
        model = HardMarginSVC(max_iter=3).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.n_iter_ == 3


def test_a_tolerance_below_rounding_is_to_be_raised():
    X, y = separable(3)
    with pytest.warns(ConvergenceWarning, match="steps by rounding errors.*raise tol"):
        model = HardMarginSVC(tol=1e-300).fit(X, y)
    assert 0 < model.n_iter_ < model.max_iter
    np.testing.assert_allclose(model.coef_, primal_qp(X, y)[0], rtol=1e-8)


def test_one_step_by_hand_leaves_a_sample_on_the_wrong_side():
    """The first pair is the bridge from (0, 0) to (2, 0); (1.5, 9) is overlooked."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 9.0], [0.5, 9.0]])
    y = np.array([-1, 1, -1, 1])
    with pytest.warns(ConvergenceWarning, match="wrong side"):
        model = HardMarginSVC(max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    assert model.support_.tolist() == [0, 1]
    np.testing.assert_allclose(model.dual_coef_, [-0.5, 0.5])
    np.testing.assert_allclose(model.coef_, [1, 0], atol=1e-12)
    assert model.intercept_ == pytest.approx(-1)
    # (3, 9) lies two beyond the line, on the other side
    assert model.margin_ == pytest.approx(-2)


@pytest.mark.parametrize("labels, message", [
    ([0, 0, 0], "one class"), ([0, 1, 2], "3 classes")])
def test_two_classes_are_needed(labels, message):
    with pytest.raises(ValueError, match=message):
        HardMarginSVC().fit([[0.0], [1.0], [2.0]], labels)


@pytest.mark.parametrize(
    "parameters", [{"tol": 0}, {"tol": np.nan}, {"tol": 1}, {"max_iter": 0}])
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        HardMarginSVC(**parameters).fit(*separable(0))


def test_scores_beyond_float64_are_refused():
    X, y = separable(3)
    model = HardMarginSVC().fit(X, y)
    with pytest.raises(ValueError, match="too large"):
        model.predict(np.full((1, X.shape[1]), 1e308))


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


@pytest.mark.parametrize("seed", range(8))
def test_the_unit_of_a_constraint_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    problem = QuadraticProblem(np.eye(5), 9 * rng.normal(size=5),
                               rng.normal(size=(12, 5)), rng.normal(size=12) - 1)
    unit = 10.0 ** rng.uniform(-3, 3, size=12)
    scaled = QuadraticProblem(problem.Q, problem.p, unit[:, np.newaxis] * problem.A,
                              unit * problem.c)
    one, two = active_set(problem, []), active_set(scaled, [])
    np.testing.assert_allclose(two[0], one[0], atol=1e-5)
    np.testing.assert_allclose(unit * two[1], one[1], atol=1e-5)


def test_a_constraint_in_a_tiny_unit_is_not_taken_for_spanned():
    """Its value grows at 1e-14 per unit of the multiplier."""
    problem = QuadraticProblem(np.eye(2), np.zeros(2), 1e-7 * np.eye(2),
                               np.array([1e-7, 2e-7]))
    u, multipliers = active_set(problem, [], tol=1e-12)
    np.testing.assert_allclose(u, [1, 2], rtol=1e-6)
    np.testing.assert_allclose(multipliers, [1e7, 2e7], rtol=1e-6)


def test_a_multiplier_that_falls_slowly_leaves_at_zero():
    """By hand: the second constraint alone decides; the first loses 1e-6 per unit."""
    problem = QuadraticProblem(np.eye(2), np.zeros(2), np.array([[1, 0], [1e-6, 1]]),
                               np.array([1, 2e6]))
    u, multipliers = active_set(problem, [0], tol=1e-6)
    np.testing.assert_allclose(u, [2, 2e6], rtol=1e-9)
    assert multipliers[0] == 0
    assert multipliers[1] == pytest.approx(2e6)


def test_active_set_drops_a_constraint_that_stops_mattering():
    """The first two samples make a street; the third shows that one of them is idle."""
    X = np.array([[2.0, 3.0], [-2.0, -3.0], [1.0, 0.0], [-1.0, 0.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    w, b, alpha = primal_qp(X, y)
    np.testing.assert_allclose(w, [1, 0], atol=1e-12)
    np.testing.assert_allclose(alpha, [0, 0, 0.5, 0.5], atol=1e-12)


def test_active_set_leaves_no_violation_larger_than_its_default_tolerance():
    problem = QuadraticProblem(np.eye(1), np.zeros(1), np.ones((2, 1)),
                               np.array([1.0, 1.0 + 1e-7]))
    u, multipliers = active_set(problem, [0])
    assert u[0] == pytest.approx(1 + 1e-7, rel=1e-12)
    np.testing.assert_allclose(multipliers, [0, 1 + 1e-7], atol=1e-12)
    u, _ = active_set(problem, [0], tol=1e-6)
    assert u[0] == pytest.approx(1, rel=1e-12)


def test_primal_qp_leaves_no_violation_larger_than_its_default_tolerance():
    X, y = [[-1.0], [1.0], [1.0 - 1e-6]], [-1, 1, 1]
    assert primal_qp(X, y)[0] == pytest.approx([2 / (2 - 1e-6)], rel=1e-10)
    assert primal_qp(X, y, tol=1e-4)[0] == pytest.approx([1], rel=1e-10)


def test_constraints_that_left_the_active_set_have_multiplier_zero():
    """Exactly: with real numbers, no more constraints are active than directions."""
    left = 0
    for seed in range(40):
        X, y = separable(seed)
        _, _, alpha = primal_qp(X, y)
        assert np.count_nonzero(alpha) <= X.shape[1] + 1
        left += np.count_nonzero(alpha) < X.shape[1] + 1
    assert left > 0


def test_active_set_reports_a_tolerance_below_rounding_and_too_few_steps():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    problem = QuadraticProblem(B @ B.T + np.eye(5), 9 * rng.normal(size=5),
                               rng.normal(size=(12, 5)), rng.normal(size=12) + 1e4)
    with pytest.raises(RuntimeError, match="Rounding errors.*tol=1e-300"):
        active_set(problem, [], tol=1e-300)
    with pytest.raises(RuntimeError, match="max_iter=1 .*violation"):
        active_set(problem, [], max_iter=1)


def test_active_set_refuses_what_it_would_search_for_ever_or_overlook():
    X, y = separable(3)
    problem = primal_problem(X, y)
    for tol in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="tol"):
            active_set(problem, [0], tol=tol)
    with pytest.raises(ValueError, match="max_iter"):
        active_set(problem, [0], max_iter=0)
    with pytest.raises(ValueError, match="no equations"):
        active_set(dual_problem(X, y), [0])
    with pytest.raises(ValueError, match="c contains NaN"):
        active_set(QuadraticProblem(problem.Q, problem.p, problem.A,
                                    problem.c * np.nan), [0])


@pytest.mark.parametrize("change, message", [
    ({"p": np.zeros(3)}, r"Q must have the shape \(3, 3\)"),
    ({"p": np.zeros((2, 1))}, r"p must have the shape \(2,\)"),
    ({"c": np.ones(1)}, r"A must have the shape \(1, 2\)"),
    ({"c": np.ones((4, 1))}, r"c must have the shape \(4,\)"),
    ({"A": np.ones((4, 3))}, r"A must have the shape \(4, 2\)"),
    ({"Q": np.ones(2)}, r"Q must have the shape \(2, 2\)"),
    ({"Q": np.array([[1.0, 1e-3], [0.0, 1.0]])}, "Q must be symmetric"),
    ({"Q": -np.eye(2)}, "negative curvature"),
    ({"Q": np.diag([1.0, -1e-6])}, "negative curvature"),
])
def test_active_set_refuses_what_is_no_convex_problem(change, message):
    whole = {"Q": np.eye(2), "p": np.zeros(2), "A": np.ones((4, 2)), "c": np.ones(4)}
    np.testing.assert_allclose(active_set(QuadraticProblem(**whole), [])[0], 0.5)
    with pytest.raises(ValueError, match=message):
        active_set(QuadraticProblem(**{**whole, **change}), [])


@pytest.mark.parametrize("index", [-1, 60])
def test_active_set_starts_from_constraints_that_exist(index):
    problem = primal_problem(*separable(3))
    with pytest.raises(ValueError, match="each of active must be between 0 and 59"):
        active_set(problem, [index])
    with pytest.raises(TypeError, match="each of active"):
        active_set(problem, [0.0])


def test_active_set_without_constraints_stays_at_the_minimum():
    problem = QuadraticProblem(2 * np.eye(2), np.array([-2.0, 4.0]), np.zeros((0, 2)),
                               np.zeros(0))
    u, multipliers = active_set(problem, [])
    np.testing.assert_allclose(u, [1, -2])
    assert multipliers.shape == (0,)


@pytest.mark.parametrize("labels", [
    np.ones(1), np.ones(59), np.ones((60, 1))])
def test_the_matrices_want_a_label_for_each_row(labels):
    for problem in (primal_problem, dual_problem):
        with pytest.raises(ValueError, match="label for each of its rows"):
            problem(separable(3)[0], labels)
        with pytest.raises(ValueError, match="X must be a matrix"):
            problem(np.ones(3), np.ones(3))


@pytest.mark.parametrize("tol", [0, -1, 1, 1.5, 3, np.nan])
def test_primal_qp_lets_no_sample_pass_on_the_wrong_side(tol):
    with pytest.raises(ValueError, match="tol must be finite and > 0 and < 1"):
        primal_qp(*separable(3), tol=tol)


def test_the_largest_tolerance_of_primal_qp_leaves_all_on_their_side():
    X, y = separable(3)
    w, b, _ = primal_qp(X, y, tol=0.999)
    assert (y * (X @ w + b)).min() > 0.0009


@pytest.mark.parametrize("labels", [
    np.ones(60), separable(3)[1][:9], separable(3)[1] + 1, separable(3)[1][:, None]])
def test_primal_qp_wants_both_labels_for_each_row(labels):
    with pytest.raises(ValueError, match="both of them"):
        primal_qp(separable(3)[0], labels)


def test_primal_qp_wants_finite_samples():
    with pytest.raises(ValueError, match="X contains NaN"):
        primal_qp([[np.nan], [1.0]], [-1, 1])
    with pytest.raises(ValueError, match="2D"):
        primal_qp([1.0, 2.0], [-1, 1])


@pytest.mark.parametrize("width", [1e-3, 1e-4])
def test_primal_qp_finds_a_narrow_street(width):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] = y * width / 2 + 0.3 * X[:, 1]
    w, _, _ = primal_qp(X, y, tol=1e-6)
    assert 2 / np.linalg.norm(w) == pytest.approx(width / np.hypot(1, 0.3), rel=1e-6)


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


def test_the_intercept_is_the_plain_mean_over_the_support_vectors():
    X, y = np.array([[0.0], [2.0], [5.0], [9.0]]), np.array([-1.0, 1.0, 1.0, 1.0])
    # y - w x = -1, -1, -4 where alpha > 0
    b = support_intercept(np.array([3.0, 1.0, 1.0, 0.0]), y, X, np.ones(1))
    assert b == pytest.approx(-2)


def test_parts_refuse_what_has_no_answer():
    X, y = separable(0)
    with pytest.raises(ValueError, match="length > 0, got 0"):
        signed_distances(X, np.zeros(X.shape[1]), 1.0)
    with pytest.raises(ValueError, match="got inf"):
        signed_distances(X, np.full(X.shape[1], 1e200), 1.0)
    with pytest.raises(ValueError, match="sum of alpha"):
        hull_distance(np.zeros(len(y)), y, X)
    with pytest.raises(ValueError, match="support vector"):
        support_intercept(np.zeros(len(y)), y, X, np.ones(X.shape[1]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_parts_refuse_what_is_not_finite(bad):
    X, y = separable(0)
    w, alpha, wrong = np.ones(X.shape[1]), np.ones(len(y)), X.copy()
    wrong[7, 0] = bad
    calls = [lambda: signed_distances(wrong, w, 1.0),
             lambda: signed_distances(X, w, bad),
             lambda: weights(alpha, y, wrong), lambda: weights(bad * alpha, y, X),
             lambda: support_intercept(alpha, y, wrong, w),
             lambda: hull_distance(alpha, y, wrong)]
    for call in calls:
        with pytest.raises(ValueError, match="not finite.*must be mended.*rescale X"):
            call()


def test_a_distance_that_overflows_is_refused():
    with pytest.raises(ValueError, match="signed_distances is not finite"):
        signed_distances(np.full((1, 2), 1e308), np.ones(2), 1.0)
    y = np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="hull_distance is not finite"):
        hull_distance(np.ones(2), y, y[:, np.newaxis] * np.full((1, 2), 1.2e308))


@pytest.mark.parametrize("bad", [-1e-300, -5.0, np.nan, np.inf, 1e308])
def test_parts_refuse_prices_that_are_none(bad):
    """An alpha below 0, or one that is no number, would be left out in silence."""
    X, y = separable(0)
    alpha = np.ones(len(y))
    alpha[[3, 4]] = bad
    with pytest.raises(ValueError, match="Every alpha must be >= 0"):
        support_intercept(alpha, y, X, np.ones(X.shape[1]))
    with pytest.raises(ValueError, match="Every alpha must be >= 0"):
        hull_distance(alpha, y, X)


def test_the_hull_distance_keeps_the_units_of_the_smallest_and_largest_data():
    """A distance of 0 would be read as no street."""
    X, y = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, -1.0])
    for price in (1e-320, 1.0, 1e307):
        for unit in (1e-250, 1.0, 1e250):
            distance = hull_distance(np.full(2, price), y, unit * X)
            assert distance == pytest.approx(5 * unit)


def test_the_solver_wants_a_balanced_start():
    X, y = separable(3)
    alpha = np.random.default_rng(0).uniform(size=len(y))
    with pytest.raises(ValueError, match="no step changes.*must be 0"):
        solve_dual(X, y, tol=1e-6, max_iter=5000, alpha=alpha)
    alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
    size = np.linalg.norm(X, axis=1).max()
    found = solve_dual(X / size, y, tol=1e-9, max_iter=100_000, alpha=alpha)
    assert found.converged
    np.testing.assert_allclose(weights(found.alpha, y, X / size) / size,
                               primal_qp(X, y)[0], rtol=1e-6, atol=1e-9)
    slightly = alpha.copy()
    slightly[0] += 1e-8 * alpha.sum()
    with pytest.raises(ValueError, match="y'alpha"):
        solve_dual(X, y, tol=1e-6, max_iter=1, alpha=slightly)
    with pytest.raises(ValueError, match="alpha must have the shape of y"):
        solve_dual(X, y, tol=1e-6, max_iter=1, alpha=alpha[:9])
    with pytest.raises(ValueError, match="alpha must lie in the box"):
        solve_dual(X, y, tol=1e-6, max_iter=0, alpha=-alpha)
    with pytest.raises(ValueError, match="alpha contains NaN"):
        solve_dual(X, y, tol=1e-6, max_iter=1, alpha=alpha * np.nan)


def test_the_solver_starts_where_it_is_told():
    """Without a step the objective is that of the start, by the explicit matrices."""
    X, y = separable(2)
    alpha = np.random.default_rng(0).uniform(size=len(y))
    solution = solve_dual(X, y, tol=0.5, max_iter=0, alpha=alpha)
    np.testing.assert_array_equal(solution.alpha, alpha)
    assert solution.objective == pytest.approx(dual_problem(X, y).objective(alpha))


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
