"""Numerical derivatives against exact ones, and planted wrong gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mlbook.gradients import GradientError, check_gradient, gradient, jacobian

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3))
S = A @ A.T + 3 * np.eye(3)
x = np.array([0.3, -1.2, 2.0])

# f, its exact gradient, and the point. The complex step sees these.
ANALYTIC = {
    "quadratic": (lambda x: x @ A @ x / 2, (A + A.T) @ x / 2, x),
    "exponential": (lambda x: np.exp(x).sum(), np.exp(x), x),
    "one number": (lambda t: t**3, 12.0, 2.0),
    "quotient": (lambda x: x[0] / x[2], [1 / 2, 0, -0.3 / 4], x),
    "maximum": (lambda x: np.maximum(x, 0).sum(), [1, 0, 1], x),
    "matrix": (lambda X: np.trace(X @ X @ S), A.T @ S + S @ A.T, A),
    "log det": (lambda X: np.log(np.linalg.det(X)), np.linalg.inv(S).T, S),
}


def written_into_floats(x):
    buffer = np.zeros(3)
    buffer[:] = 2 * x
    return buffer.sum()


def half_log_det_by_cholesky(X):
    return np.log(np.diag(np.linalg.cholesky((X + X.T) / 2))).sum()


# These reject complex numbers or lose the imaginary part.
NOT_ANALYTIC = {
    "constant": (lambda x: 2.0, np.zeros(3), x),
    "absolute": (lambda x: np.abs(x).sum(), np.sign(x), x),
    "norm": (lambda x: np.linalg.norm(x), x / np.linalg.norm(x), x),
    "conjugate": (lambda x: np.vdot(x, x), 2 * x, x),
    "real part": (lambda x: np.real(x).sum(), np.ones(3), x),
    "variance": (lambda x: x.var(), 2 * (x - x.mean()) / 3, x),
    "logaddexp": (lambda t: np.logaddexp(0, t), 0.5, 0.0),
    "float()": (lambda x: float(x[0]) ** 2, [0.6, 0, 0], x),
    "half of it": (lambda x: x[0] ** 2 + np.abs(x[1]), [0.6, -1, 0], x),
    "a small part": (lambda x: 1e4 * x[0] + 1e-4 * np.abs(x[1]), [1e4, -1e-4, 0], x),
    "float array": (written_into_floats, [2, 2, 2], x),
    "cholesky": (half_log_det_by_cholesky, np.linalg.inv(S) / 2, S),
}


@pytest.mark.parametrize("name", ANALYTIC)
@pytest.mark.parametrize("method", ["auto", "complex"])
def test_exact_to_rounding_where_f_is_analytic(name, method):
    f, exact, point = ANALYTIC[name]
    result = gradient(f, point, method)
    assert result.shape == np.shape(point)
    np.testing.assert_allclose(result, exact, rtol=1e-13, atol=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*ANALYTIC, *NOT_ANALYTIC])
def test_never_silently_wrong(name):
    f, exact, point = {**ANALYTIC, **NOT_ANALYTIC}[name]
    for method in ("auto", "central"):
        result = gradient(f, point, method)
        scale = max(1, np.abs(exact).max())
        np.testing.assert_allclose(result, exact, rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize("name", ["absolute", "norm", "variance", "constant"])
def test_complex_step_refuses_real_values(name):
    f, _, point = NOT_ANALYTIC[name]
    with pytest.raises(ValueError, match='real value for complex x.*method="central"'):
        gradient(f, point, "complex")


@given(
    npst.arrays(float, 3, elements=st.floats(-10, 10)),
    npst.arrays(float, 4, elements=st.floats(-3, 3)),
)
@settings(deadline=None)
def test_central_differences_of_polynomials(point, coefficients):
    """Symmetric in h, they are exact to order h^2, which one-sided ones are not."""

    def f(x):
        return (coefficients @ [x**0, x, x**2, x**3]).sum()

    exact = coefficients[1:] @ [point**0, 2 * point, 3 * point**2]
    result = gradient(f, point, "central")
    np.testing.assert_allclose(result, exact, rtol=1e-7, atol=2e-7)


def test_central_differences_leave_no_term_in_h():
    """Of a parabola with its vertex 1e-3 away, one-sided differences miss 1e-6/1e-3."""
    assert gradient(lambda t: t**2, 1e-3, "central") == pytest.approx(2e-3, rel=1e-8)


@pytest.mark.parametrize("method", ["auto", "complex", "central"])
def test_jacobian_is_in_the_denominator_layout(method):
    """Row i belongs to x_i: the Jacobian of B'x is B."""
    B = rng.normal(size=(3, 2))
    np.testing.assert_allclose(jacobian(lambda x: B.T @ x, x, method), B, rtol=1e-8)
    assert jacobian(lambda X: X @ x, A, method).shape == (3, 3, 3)
    assert jacobian(lambda X: X.sum(), A, method).shape == (3, 3)
    assert jacobian(lambda t: np.array([t, t**2]), 3.0, method).tolist() == (
        pytest.approx([1.0, 6.0])
    )


def test_matrix_to_matrix():
    """d (AX)_kl / d X_ij = A_ki delta_lj."""
    expected = np.einsum("ki,lj->ijkl", A, np.eye(3))
    np.testing.assert_allclose(jacobian(lambda X: A @ X, S), expected, atol=1e-14)


def test_functions_in_single_precision():
    def f(x):
        return np.sum(x.astype(np.float32) ** 2)

    np.testing.assert_allclose(gradient(f, x, "central"), 2 * x, atol=2e-3)
    assert check_gradient(f, lambda x: 2 * x, x, rtol=1e-2) < 1e-2


def test_point_is_left_alone():
    def spoiling(x):
        x *= 2
        return x.sum()

    point = x.copy()
    point.flags.writeable = False
    np.testing.assert_allclose(gradient(spoiling, point), [2, 2, 2])
    np.testing.assert_array_equal(point, x)


# check_gradient


def logistic(w):
    """A loss of the kind that later chapters check."""
    return np.log(1 + np.exp(-(A @ w))).sum() + 0.1 * w @ w


def logistic_gradient(w):
    return -A.T @ (1 / (1 + np.exp(A @ w))) + 0.2 * w


def test_right_gradients_pass():
    assert check_gradient(logistic, logistic_gradient, x) < 1e-12
    assert check_gradient(logistic, logistic_gradient(x), x) < 1e-12
    assert check_gradient(logistic, logistic_gradient, x, method="central") < 1e-6
    assert check_gradient(lambda x: A @ x, lambda x: A.T, x) < 1e-12


@pytest.mark.parametrize("method", ["auto", "central"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda g: -g,
        lambda g: 2 * g,
        lambda g: g / 2,
        lambda g: g * [1, 1, -1],
        lambda g: g * [1, 0, 1],
        lambda g: g * [1, 1 + 1e-4, 1],
        lambda g: g[[1, 0, 2]],
        lambda g: 0 * g,
    ],
)
def test_wrong_gradients_fail(wrong, scale, method):
    def f(w):
        return scale * logistic(w)

    assert check_gradient(f, lambda w: scale * logistic_gradient(w), x) < 1e-9
    with pytest.raises(GradientError, match="entries differ"):
        check_gradient(f, scale * wrong(logistic_gradient(x)), x, method=method)


def test_transposed_gradient_fails():
    f = NOT_ANALYTIC["cholesky"][0]
    inverse = np.linalg.inv(S)
    check_gradient(f, inverse / 2, S)
    with pytest.raises(GradientError):
        check_gradient(lambda X: np.trace(A @ X), A, S)
    assert check_gradient(lambda X: np.trace(A @ X), A.T, S) < 1e-12
    with pytest.raises(GradientError):
        check_gradient(lambda x: A @ x, A, x)


def test_small_entry_beside_a_large_one():
    f = lambda x: 1e6 * x[0] + 1e-3 * x[1]  # noqa: E731
    check_gradient(f, [1e6, 1e-3], x[:2])
    with pytest.raises(GradientError, match=r"derivative\[1\]"):
        check_gradient(f, [1e6, -1e-3], x[:2])


def test_error_shows_the_worst_entry_and_both_values():
    with pytest.raises(
        GradientError,
        match=r"derivative\[1, 0\]: analytic -4, numerical 2 \(complex step\), "
        r"relative error 1.5 > 1e-06; 2 of 4 entries differ",
    ):
        check_gradient(
            lambda X: 2 * X.sum(), [[2.0, 3.0], [-4.0, 2.0]], np.ones((2, 2))
        )
    assert issubclass(GradientError, AssertionError)


def test_stationary_points_pass():
    assert check_gradient(lambda x: x @ x, lambda x: 2 * x, np.zeros(3)) == 0.0
    target = np.array([0.1, 0.2, 0.3])
    f = lambda x: ((x - target) ** 2).sum()  # noqa: E731
    assert check_gradient(f, lambda x: 2 * (x - target), target * 3 / 3) < 1e-6
    assert check_gradient(lambda x: 1.0, np.zeros(0), np.zeros(0)) == 0.0


# Bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gradient(lambda x: x, x), r"one number, got shape \(3,\); jacobian"),
        (lambda: gradient(np.sum, x, "forward"), "method must be one of .*'forward'"),
        (lambda: gradient(np.sum, [np.nan]), "Input x contains NaN"),
        (lambda: gradient(lambda x: np.nan, x), r"f\(x\) contains NaN"),
        (lambda: gradient(lambda t: 1.0 if t == 0 else np.inf, 0.0), "f near x conta"),
        (lambda: check_gradient(np.sum, np.ones(3), x, rtol=0), "rtol must lie betw"),
        (lambda: check_gradient(np.sum, [1.0], x), r"shape \(3,\) .*got \(1,\)"),
        (lambda: check_gradient(np.sum, [1, np.nan, 1], x), "analytic derivative con"),
        (lambda: check_gradient(lambda x: x[:2], np.ones((2, 3)), x), r"\(3, 2\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
