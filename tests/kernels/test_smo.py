"""The solver itself: optimality, invariants and its limits, on raw quadratic problems."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from mlbook.kernels.smo import RowCache, solve


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


def test_indefinite_kernel_ends():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    K = A + A.T
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    found = solve(K.__getitem__, K.diagonal(), y, -np.ones(30), np.ones(30),
                  max_iter=20_000)
    assert np.isfinite(found.objective)
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
