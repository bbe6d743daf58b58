"""The solver itself on raw quadratic problems: optimality, invariants and limits."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from mlbook.kernels.smo import RowCache, box, solve


def problem(seed, m=12, rank=5):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, rank))
    y = np.where(rng.random(m) < 0.5, -1.0, 1.0)
    return A @ A.T, y, rng.normal(size=m), rng.uniform(0.1, 2, m)


def feasible_start(y, upper):
    """Half the box wherever that can be balanced: y'a = 0 with a > 0."""
    a = upper / 2
    plus, minus = a[y > 0].sum(), a[y < 0].sum()
    a[y > 0] *= min(1, minus / plus)
    a[y < 0] *= min(1, plus / minus)
    return a


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_scipy_on_random_problems(seed):
    K, y, p, upper = problem(seed)
    Q = K * np.outer(y, y)
    found = solve(K.__getitem__, K.diagonal(), y, p, upper, tol=1e-9)
    reference = minimize(
        lambda a: 0.5 * a @ Q @ a + p @ a, feasible_start(y, upper),
        jac=lambda a: Q @ a + p, method="SLSQP",
        bounds=[(0, u) for u in upper], constraints=LinearConstraint(y, 0, 0),
        options={"ftol": 1e-14, "maxiter": 1000})
    assert found.converged and found.gap < 1e-9
    assert found.objective == pytest.approx(reference.fun, abs=1e-7)
    assert found.objective <= reference.fun + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_feasible_and_optimal(seed):
    K, y, p, upper = problem(seed, m=40)
    start = feasible_start(y, upper)
    found = solve(K.__getitem__, K.diagonal(), y, p, upper, alpha=start, tol=1e-8)
    a = found.alpha
    assert (a >= 0).all() and (a <= upper).all()
    assert y @ a == pytest.approx(y @ start, abs=1e-10)
    gradient = (K * np.outer(y, y)) @ a + p
    np.testing.assert_allclose(found.value, -y * gradient, atol=1e-9)
    assert found.objective == pytest.approx(0.5 * a @ (gradient + p), abs=1e-9)
    # KKT: the gradient of the Lagrangian, y_i (b - V_i), has the sign of its bound
    multiplier = y * (found.intercept - found.value)
    free = (a > 0) & (a < upper)
    assert np.abs(multiplier[free]).max(initial=0) < 1e-7
    assert multiplier[a == 0].min(initial=0) > -1e-7
    assert multiplier[a == upper].max(initial=0) < 1e-7


def test_start_is_not_modified_and_keeps_its_constant():
    K, y, p, upper = problem(3)
    start = feasible_start(y, upper)
    start[0] = upper[0]
    before = start.copy()
    found = solve(K.__getitem__, K.diagonal(), y, p, upper, alpha=start, tol=1e-8)
    np.testing.assert_array_equal(start, before)
    assert y @ found.alpha == pytest.approx(y @ before)


def test_every_variable_can_be_picked():
    """The last two points alone decide this problem."""
    x = np.array([0.0, 0.0, -1.0, 1.0])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    upper = np.array([1e-9, 1e-9, 10, 10])
    K = np.outer(x, x)
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(4), upper, tol=1e-10)
    np.testing.assert_allclose(found.alpha[2:], 0.5, atol=1e-6)


def test_flat_direction_moves_to_the_edge():
    """Equal points with opposite labels: the curvature between them is 0."""
    K = np.ones((2, 2))
    y = np.array([1.0, -1.0])
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(2), np.full(2, 3.0))
    np.testing.assert_array_equal(found.alpha, [3, 3])
    assert found.objective == -6


@pytest.mark.parametrize("C", [3.0, 1e9, 1e200])
def test_a_flat_pair_takes_one_step_to_the_edge_however_far_it_is(C):
    found = solve(np.ones((2, 2)).__getitem__, np.ones(2), np.array([1.0, -1.0]),
                  -np.ones(2), np.full(2, C))
    np.testing.assert_array_equal(found.alpha, [C, C])
    assert found.n_iter == 1


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_a_pair_close_together_is_not_flat(scale):
    """|x_1 - x_2|^2 is 5e-7 of the sum of squares: the lowest point is 2 / 1."""
    x = scale * np.array([1000.0, 1001.0])
    found = solve(np.outer(x, x).__getitem__, x * x, np.array([-1.0, 1.0]), -np.ones(2),
                  np.full(2, 10 / scale**2), tol=1e-6)
    np.testing.assert_allclose(found.alpha * scale**2, 2, rtol=1e-9)
    assert found.n_iter == 1


def test_a_flat_pair_is_moved_before_a_steep_one():
    """Both have V_i - V_j = 2; the flat one can gain more."""
    x = np.array([0.0, 0.01, 0.0])
    found = solve(np.outer(x, x).__getitem__, x * x, np.array([1.0, -1.0, -1.0]),
                  -np.ones(3), np.full(3, 9.0), max_iter=1)
    np.testing.assert_array_equal(found.alpha, [9, 0, 9])


def test_a_flat_pair_in_an_open_box_is_left_to_the_caller():
    """The minimum does not exist; ``stop`` sees it and ends the search."""
    calls = []

    def stop(alpha, V):
        calls.append((alpha.copy(), V.copy()))
        return alpha.sum() > 1e13

    found = solve(np.ones((2, 2)).__getitem__, np.ones(2), np.array([1.0, -1.0]),
                  -np.ones(2), np.full(2, np.inf), stop=stop)
    assert len(calls) == 1 and not found.converged
    assert found.n_iter == 255
    np.testing.assert_array_equal(calls[0][0], found.alpha)
    np.testing.assert_array_equal(calls[0][1], [1, -1])


def test_an_indefinite_pair_goes_to_the_edge():
    """K_11 + K_22 - 2 K_12 = -4: the objective bends down, its minimum is an edge."""
    K = np.array([[1.0, 3], [3, 1]])
    found = solve(K.__getitem__, K.diagonal(), np.array([1.0, -1.0]), -np.ones(2),
                  np.full(2, 5.0))
    np.testing.assert_array_equal(found.alpha, [5, 5])
    assert found.objective == -60


def test_the_partner_is_chosen_by_second_order():
    """From i = 0 partner 1 gains 4 / 1 and partner 2, farther away, (2.2)^2 / 9."""
    x = np.array([0.0, 1.0, 3.0])
    found = solve(np.outer(x, x).__getitem__, x * x, np.array([1.0, -1.0, -1.0]),
                  np.array([-1.0, -1.0, -1.2]), np.full(3, 9.0), max_iter=1)
    np.testing.assert_array_equal(found.alpha, [2, 2, 0])
    # with half the distance and 0.6 of the difference, squares decide for the farther
    x = np.array([0.0, 1.0, 1.5])
    found = solve(np.outer(x, x).__getitem__, x * x, np.array([1.0, -1.0, -1.0]),
                  np.array([-1.0, 0.0, -1.0]), np.full(3, 9.0), max_iter=1)
    np.testing.assert_allclose(found.alpha, [8 / 9, 0, 8 / 9])


def intercept(alpha, y, p, upper, K=None):
    """b of a start that is not moved."""
    K = np.zeros((len(y), len(y))) if K is None else K
    return solve(K.__getitem__, K.diagonal(), np.array(y, dtype=float), np.array(p),
                 np.full(len(y), upper), alpha=np.array(alpha), max_iter=0).intercept


def test_intercept_is_the_mean_over_the_free():
    """V = -y p; the rows with alpha 0 and 4 say nothing."""
    y, p = [1, 1, 1, 1, -1, -1], [-1.0, -2, -6, 50, 30, 40]
    assert intercept([1.0, 2, 3, 0, 0, 4], y, p, 4.0) == pytest.approx(3)


def test_intercept_is_the_middle_where_none_is_free():
    # up: y = 1 at 0 (V = 1, 2) and y = -1 at the edge (V = -4)
    # down: y = 1 at the edge (V = 9) and y = -1 at 0 (V = 5, 7)
    y, p = [1, 1, 1, -1, -1, -1], [-1.0, -2, -9, -4, 5, 7]
    assert intercept([0.0, 0, 2, 2, 0, 0], y, p, 2.0) == pytest.approx((2 + 5) / 2)


def test_intercept_with_one_edge_or_none():
    assert intercept([0.0, 0], [1, 1], [-3.0, -7], 1.0) == 7
    assert intercept([0.0, 0], [-1, -1], [3.0, 7], 1.0) == 3
    assert intercept([0.0, 0], [1, 1], [-3.0, -7], 0.0) == 0


def test_tolerance_decides_when_it_ends():
    K, y, p, upper = problem(2, m=40)
    runs = [solve(K.__getitem__, K.diagonal(), y, p, upper, tol=tol)
            for tol in (1e-1, 1e-3, 1e-8)]
    assert runs[0].n_iter < runs[1].n_iter < runs[2].n_iter
    assert all(q.converged and q.gap < tol for q, tol in zip(runs, (1e-1, 1e-3, 1e-8)))


@pytest.mark.parametrize("shift", [1e6, 1e8, 1e9, 1e10, 1e12])
def test_rounding_errors_are_not_taken_for_an_optimum(shift):
    """Far from the origin the entries of K have no digits left for the differences."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) + shift, np.where(rng.random(60) < 0.5, -1.0, 1.0)
    K = X @ X.T
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(60), np.ones(60))
    assert not found.converged
    assert found.n_iter < 1_000_000


@pytest.mark.parametrize("shift", [0, 1e3, 1e5, 1e7])
def test_value_gap_and_objective_are_those_of_alpha(shift):
    """They are computed from alpha at the end, not carried along."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) + shift, np.where(rng.random(60) < 0.5, -1.0, 1.0)
    K = X @ X.T
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(60), np.ones(60),
                  max_iter=900)
    a = found.alpha
    blur = 1e-15 * K.max() * a.sum() * 60
    V = y - K @ (y * a)
    np.testing.assert_allclose(found.value, V, atol=1e-12 + blur, rtol=0)
    up = np.where(y > 0, a < 1, a > 0)
    down = np.where(y > 0, a > 0, a < 1)
    V = found.value
    assert found.gap == max(V[up].max() - V[down].min(), 0)
    assert found.objective == pytest.approx(0.5 * a @ (-1 - y * V), rel=1e-12)


def test_a_search_goes_on_from_the_true_gradient():
    """A row that is wrong while pairs move leaves a wrong V behind; it is found out."""
    K, y, p, upper = problem(4, m=30)
    right = solve(K.__getitem__, K.diagonal(), y, p, upper, tol=1e-8)
    calls = []

    def row(i):
        calls.append(i)
        return K[i] * (1 + 1e-3 * (len(calls) < 40))

    found = solve(row, K.diagonal(), y, p, upper, tol=1e-8)
    assert found.converged
    assert found.objective == pytest.approx(right.objective, abs=1e-9)


def test_the_search_for_a_true_gradient_is_bounded():
    """With a row that never is what it was the gap cannot close."""
    K, y, p, upper = problem(4, m=30)
    rng = np.random.default_rng(0)
    found = solve(lambda i: K[i] + 1e-3 * rng.normal(size=30), K.diagonal(), y, p,
                  upper, tol=1e-9)
    assert not found.converged and found.n_iter < 100_000


def test_indefinite_kernel_ends():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    K = A + A.T
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(30), np.ones(30),
                  max_iter=20_000)
    Q = K * np.outer(y, y)
    assert found.objective == pytest.approx(
        0.5 * found.alpha @ Q @ found.alpha - found.alpha.sum())
    assert ((found.alpha >= 0) & (found.alpha <= 1)).all()


def test_iteration_limit_is_reported():
    K, y, p, upper = problem(1, m=40)
    found = solve(K.__getitem__, K.diagonal(), y, p, upper, tol=1e-12, max_iter=3)
    assert found.n_iter == 3 and not found.converged and found.gap > 1e-12


def test_objective_never_rises():
    K, y, p, upper = problem(2, m=30)
    values = [solve(K.__getitem__, K.diagonal(), y, p, upper, tol=1e-10,
                    max_iter=k).objective for k in range(1, 60)]
    assert (np.diff(values) <= 1e-12).all()


def test_cache_is_bounded_and_drops_the_least_recent():
    computed = []

    def compute(i):
        computed.append(i)
        return np.full(4, float(i))

    cache = RowCache(compute, size=4, max_bytes=3 * 4 * 8)
    for i in (0, 1, 2, 0, 3, 0, 1):
        assert cache(i)[0] == i
    assert computed == [0, 1, 2, 3, 1]  # 1 made room for 3; 0 had been used since


@pytest.mark.parametrize("max_bytes", [0, 1, 8 * 4 * 2])
def test_cache_holds_the_two_rows_in_use(max_bytes):
    computed = []

    def compute(i):
        computed.append(i)
        return np.full(4, float(i))

    cache = RowCache(compute, size=4, max_bytes=max_bytes)
    for i in (0, 1, 0, 1, 0, 1):
        cache(i)
    assert computed == [0, 1]


def test_cache_of_curvatures_keeps_to_its_memory():
    """Without room for more than two the rows are asked for more often."""
    K, y, p, upper = problem(2, m=40)
    asked = []
    for cache_bytes in (0, 2**20):
        calls = []

        def row(i):
            calls.append(i)
            return K[i]

        solve(row, K.diagonal(), y, p, upper, tol=1e-8, cache_bytes=cache_bytes)
        asked.append(len(calls))
    assert asked[0] > asked[1]


@pytest.mark.parametrize(("changes", "message"), [
    ({"y": [1.0, 0, -1]}, "labels"), ({"y": [1.0, -1]}, "shape of y"),
    ({"y": [1.0, np.nan, -1]}, "y contains NaN"),
    ({"p": [0.0, np.nan, 1]}, "p contains"), ({"p": [0.0, np.inf, 1]}, "p contains"),
    ({"p": [0.0, 1]}, "p must have the shape"),
    ({"upper": [1.0, -1, 1]}, "upper must hold"),
    ({"upper": [1.0, np.nan, 1]}, "upper must hold"),
    ({"alpha": [0.0, 2, 0]}, "alpha must lie"), ({"alpha": [0.0, -1, 0]}, "alpha must"),
    ({"alpha": [0.0, np.nan, 0]}, "alpha contains NaN"),
    ({"diagonal": [1.0, 1]}, "diagonal must have the shape"),
    ({"tol": 0}, "tol must be"), ({"tol": np.nan}, "tol must be"),
    ({"max_iter": -1}, "max_iter must be"),
])
def test_bad_arguments(changes, message):
    arguments = {"row": np.eye(3).__getitem__, "diagonal": np.ones(3),
                 "y": np.array([1.0, -1, 1]), "p": -np.ones(3), "upper": np.ones(3)}
    with pytest.raises(ValueError, match=message):
        solve(**arguments | changes)


def test_overflow_is_an_error():
    K = np.full((4, 4), 1e200)
    with pytest.raises(ValueError, match="overflow: centre and scale"):
        solve(K.__getitem__, K.diagonal(), np.array([1.0, 1, 1, -1]), -np.ones(4),
              np.full(4, 1e200), alpha=np.full(4, 1e200), max_iter=1)
    with pytest.raises(ValueError, match="overflow"):
        solve(np.zeros((2, 2)).__getitem__, np.zeros(2), np.array([1.0, -1]),
              np.full(2, -1e200), np.full(2, 1e200))


def test_box():
    np.testing.assert_array_equal(box(0.5, np.array([1.0, 4])), [0.5, 2])
    for C, weight in ((1e-300, 1e-300), (1e300, 1e300)):
        with pytest.raises(ValueError, match="C times sample_weight must be finite"):
            box(C, np.array([1.0, weight]))
