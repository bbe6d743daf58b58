"""Kernels held to scikit-learn, to explicit features and to exact arithmetic."""

import itertools
import math
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV

from mlbook.kernels.kernel_functions import (
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    check_kernel,
    gram,
    is_positive_semidefinite,
    squared_distances,
    squared_feature_distances,
)
from mlbook.kernels.soft_margin_svm import SVC

rng = np.random.default_rng(3)
X = rng.normal(1.0, 2.0, size=(12, 3))
Z = rng.normal(-1.0, 1.0, size=(7, 3))

LIBRARY = {
    "linear": (Linear(), pairwise.linear_kernel, {}),
    "polynomial": (
        Polynomial(4, gamma=0.3, coef0=0.7),
        pairwise.polynomial_kernel,
        {"degree": 4, "gamma": 0.3, "coef0": 0.7},
    ),
    "polynomial, no constant": (
        Polynomial(3, gamma=2.0, coef0=0.0),
        pairwise.polynomial_kernel,
        {"degree": 3, "gamma": 2.0, "coef0": 0.0},
    ),
    "gaussian": (Gaussian(0.2), pairwise.rbf_kernel, {"gamma": 0.2}),
    "laplacian": (Laplacian(0.4), pairwise.laplacian_kernel, {"gamma": 0.4}),
    "sigmoid": (
        Sigmoid(gamma=0.1, coef0=-0.5),
        pairwise.sigmoid_kernel,
        {"gamma": 0.1, "coef0": -0.5},
    ),
}
KERNELS = {
    **{name: kernel for name, (kernel, _, _) in LIBRARY.items()},
    "constant": Constant(2.5),
    "combined": 0.5 * Linear() * Gaussian(0.3) + Polynomial(2) + 1,
    "indefinite": 1 + Sigmoid(0.2) * 3,
}
VALID = [name for name in KERNELS if name not in ("sigmoid", "indefinite")]
MODULE = "mlbook.kernels.kernel_functions."


@pytest.mark.parametrize("name", LIBRARY)
def test_as_scikit_learn(name):
    kernel, function, parameters = LIBRARY[name]
    np.testing.assert_allclose(kernel(X, Z), function(X, Z, **parameters), rtol=1e-12)
    np.testing.assert_allclose(kernel(X), function(X, **parameters), rtol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_diagonal_rows_and_gram_are_the_matrix(name):
    kernel = KERNELS[name]
    K = kernel(X)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-13)
    row = kernel.rows(X)
    np.testing.assert_allclose([row(i) for i in range(len(X))], K, rtol=1e-12)
    G = gram(kernel, X)
    np.testing.assert_array_equal(G, G.T)
    np.testing.assert_allclose(G, K, rtol=1e-13)
    np.testing.assert_allclose(kernel(X, X), K, rtol=1e-13)


def polynomial_features(points, degree, gamma, coef0):
    """Every product of up to ``degree`` coordinates, weighted by the multinomial
    theorem: the feature x^a has the weight sqrt(degree! / prod a! gamma^|a| c^rest)."""
    columns = []
    for powers in itertools.product(range(degree + 1), repeat=points.shape[1]):
        rest = degree - sum(powers)
        if rest >= 0:
            ways = math.factorial(degree) / math.prod(
                map(math.factorial, (*powers, rest))
            )
            weight = ways * gamma ** sum(powers) * coef0**rest
            columns.append(np.sqrt(weight) * np.prod(points**powers, axis=1))
    return np.column_stack(columns)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_polynomial_is_the_inner_product_of_its_features(degree):
    phi_x = polynomial_features(X, degree, 0.5, 1.5)
    phi_z = polynomial_features(Z, degree, 0.5, 1.5)
    assert phi_x.shape[1] == math.comb(3 + degree, degree)
    kernel = Polynomial(degree, gamma=0.5, coef0=1.5)
    np.testing.assert_allclose(kernel(X, Z), phi_x @ phi_z.T, rtol=1e-10, atol=1e-10)


def test_gaussian_is_its_series():
    """exp(-g(x^2+z^2)) sum (2g)^k x^k z^k / k!: forty features reach all digits."""
    x, z, gamma = rng.uniform(-1, 1, 9), rng.uniform(-1, 1, 8), 0.8
    order = np.arange(40)
    weight = np.sqrt([(2 * gamma) ** k / math.factorial(k) for k in range(40)])
    phi_x = np.exp(-gamma * x**2)[:, None] * x[:, None] ** order * weight
    phi_z = np.exp(-gamma * z**2)[:, None] * z[:, None] ** order * weight
    K = Gaussian(gamma)(x[:, None], z[:, None])
    np.testing.assert_allclose(K, phi_x @ phi_z.T, rtol=1e-13)


def test_gaussian_is_a_product_over_features():
    single = [Gaussian(0.2)(X[:, [k]], Z[:, [k]]) for k in range(3)]
    np.testing.assert_allclose(Gaussian(0.2)(X, Z), np.prod(single, axis=0), rtol=1e-13)


def test_by_hand():
    points = [[1.0, 2.0], [3.0, 1.0]]
    np.testing.assert_array_equal(Linear()(points), [[5, 5], [5, 10]])
    np.testing.assert_array_equal(Polynomial(2)(points), [[36, 36], [36, 121]])
    off = math.exp(-5)
    np.testing.assert_allclose(Gaussian(1.0)(points), [[1, off], [off, 1]], rtol=1e-14)
    off = math.exp(-1.5)
    np.testing.assert_allclose(Laplacian(0.5)(points), [[1, off], [off, 1]], rtol=1e-14)
    np.testing.assert_allclose(Sigmoid()(points)[0], np.tanh([5.0, 5.0]))


# Combination


def test_sum_and_product_entry_by_entry():
    a, b = Polynomial(2)(X, Z), Gaussian(0.1)(X, Z)
    np.testing.assert_allclose((Polynomial(2) + Gaussian(0.1))(X, Z), a + b)
    np.testing.assert_allclose((Polynomial(2) * Gaussian(0.1))(X, Z), a * b)
    np.testing.assert_allclose((3 * Polynomial(2) + 0.5)(X, Z), 3 * a + 0.5)
    np.testing.assert_allclose((0.5 + Polynomial(2) * 3)(X, Z), 3 * a + 0.5)
    np.testing.assert_allclose(sum([Linear(), Linear()])(X, Z), 2 * Linear()(X, Z))


def test_number_of_numpy_scales_and_an_array_is_refused():
    scaled = np.float64(0.5) * Linear()
    assert isinstance(scaled, Kernel)
    np.testing.assert_allclose(scaled(X, Z), 0.5 * Linear()(X, Z))
    for combine in (lambda: np.ones(2) * Linear(), lambda: Linear() + np.ones(2)):
        with pytest.raises(TypeError, match="expected a kernel or a number >= 0"):
            combine()


def test_a_combination_keeps_the_typed_order():
    for combined, left, right in (
        (0.5 + Linear(), 0.5, "Linear()"),
        (Linear() + 0.5, "Linear()", 0.5),
        (0.5 * Linear(), 0.5, "Linear()"),
        (Linear() * 0.5, "Linear()", 0.5),
    ):
        sides = [repr(getattr(q, "value", q)) for q in (combined.left, combined.right)]
        assert sides == [str(left), str(right)]


@pytest.mark.parametrize("combine", [lambda v: v * Linear(), lambda v: Linear() + v])
def test_what_cannot_be_combined_is_refused(combine):
    for value in (True, False, None, 1j, [2.0]):
        with pytest.raises(TypeError, match="expected a kernel or a number >= 0"):
            combine(value)
    for value in (10**400, np.inf, np.nan):
        with pytest.raises(ValueError, match="a number combined with a kernel must be"):
            combine(value)


def test_product_is_the_inner_product_of_all_products_of_features():
    psi = polynomial_features(X, 2, 1.0, 1.0)
    pairs = np.einsum("ij,ik->ijk", X, psi).reshape(len(X), -1)
    np.testing.assert_allclose((Linear() * Polynomial(2))(X), pairs @ pairs.T)


@pytest.mark.parametrize("name", VALID)
def test_gram_matrices_have_no_negative_eigenvalue(name):
    for seed in range(5):
        points = np.random.default_rng(seed).normal(0, 3, size=(25, 2))
        assert is_positive_semidefinite(gram(KERNELS[name], points))


def test_sigmoid_has_a_negative_eigenvalue():
    """x = 1, 2 and tanh(xz - 1): the determinant tanh 0 tanh 3 - tanh(1)^2 is < 0."""
    K = gram(Sigmoid(gamma=1.0, coef0=-1.0), [[1.0], [2.0]])
    assert np.linalg.det(K) == pytest.approx(-math.tanh(1) ** 2)
    assert not is_positive_semidefinite(K)


def test_gaussian_gram_matrix_of_different_points_has_full_rank():
    points = np.arange(6.0)[:, None]
    assert np.linalg.eigvalsh(gram(Gaussian(1.0), points))[0] > 0.1


def test_both_ends_of_gamma():
    np.testing.assert_allclose(Gaussian(1e-12)(X, Z), 1, atol=1e-9)
    np.testing.assert_array_equal(Gaussian(1e9)(X), np.eye(len(X)))
    far = Gaussian(1.0)([[0.0]], [[1.0], [2.0], [3.0]])[0]
    assert (np.diff(far) < 0).all() and far.max() < 1


# Positive semi-definiteness


@pytest.mark.parametrize(
    ("K", "answer"),
    [
        (np.eye(3), True),
        (np.zeros((2, 2)), True),
        (np.ones((4, 4)), True),
        (np.diag([1.0, 0.0, -1e-3]), False),
        ([[1, 2], [2, 1]], False),
        (np.diag([1e-200, -1e-200]), False),
        (np.diag([1e200, -1e191]), False),
        (np.diag([1e308, -1e299]), False),
        ([[1e308, 1.5e308], [1.5e308, 1e308]], False),
        ([[1.5e308, 1e308], [1e308, 1.5e308]], True),
        (np.diag([5e-324, -5e-324]), False),
        (np.diag([-1.0, -0.5]), False),
        (np.diag([1e-12, -1.0]), False),
        (np.diag([1.0, -1e-12]), True),
        ([[-1.0]], False),
    ],
)
def test_is_positive_semidefinite(K, answer):
    assert is_positive_semidefinite(K) is answer


def test_default_tolerance_and_tolerance_zero():
    K = np.diag([1.0, -5e-11])
    assert is_positive_semidefinite(K)
    assert not is_positive_semidefinite(np.diag([1.0, -2e-10]))
    assert not is_positive_semidefinite(K, tolerance=0)
    assert is_positive_semidefinite(np.eye(2), tolerance=0)
    ones = np.ones((100, 100))  # its largest eigenvalue is 100, not its largest entry
    ones[:2, :2] += 5e-10 * np.array([[-1, 1], [1, -1]])  # and its smallest -1e-9
    assert is_positive_semidefinite(ones)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e300])
def test_symmetry_is_up_to_rounding(scale):
    for off, near in ((1e-11, 1.0), (1e-13, 0.0)):  # relative, and beside a zero
        K = scale * np.array([[2.0, near + off], [near, 2.0]])
        assert is_positive_semidefinite(K)
    for off, near in ((1e-9, 1.0), (1e-11, 0.0)):
        K = scale * np.array([[2.0, near + off], [near, 2.0]])
        with pytest.raises(ValueError, match="K must be symmetric"):
            is_positive_semidefinite(K)


def test_tolerance_is_a_share_of_the_largest_eigenvalue():
    K = np.diag([100.0, -1e-3])
    assert is_positive_semidefinite(K, tolerance=2e-5)
    assert not is_positive_semidefinite(K, tolerance=5e-6)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.zeros((2, 3)), r"square matrix .*, got a ndarray of shape \(2, 3\)"),
        (np.zeros((0, 0)), r"square matrix .* of shape \(0, 0\)"),
        (np.zeros((2, 2, 2)), r"square matrix .* of shape \(2, 2, 2\)"),
        ([1.0, 2.0], r"square matrix .*, got a list of shape \(2,\)"),
        (Gaussian(), r"such as gram\(kernel, X\), got a Gaussian of shape \(\)"),
        (None, "square matrix .*, got a NoneType"),
        ([["a"]], "K must be numeric"),
        ([[np.inf]], "K contains infinity"),
        ([[1.0, 2.0], [0.0, 1.0]], "must be symmetric"),
        ([[np.nan]], "K contains NaN"),
    ],
)
def test_bad_matrices(K, message):
    with pytest.raises(ValueError, match=message):
        is_positive_semidefinite(K)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan])
def test_bad_tolerance(tolerance):
    with pytest.raises(ValueError, match="tolerance must be finite and >= 0 and < 1"):
        is_positive_semidefinite(np.eye(2), tolerance)


@pytest.mark.parametrize("tolerance", ["small", None, True])
def test_tolerance_that_is_no_number(tolerance):
    with pytest.raises(TypeError, match="tolerance must be a number"):
        is_positive_semidefinite(np.eye(2), tolerance)


# Distances


def exact_distance(x, z):
    return float(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z)))


def test_close_points_far_from_the_origin():
    """1e8 + 1 against 1e8 in float64: 1, and 0 to itself."""
    far = np.array([[1e8], [1e8 + 1]])
    np.testing.assert_array_equal(squared_distances(far, far), [[0, 1], [1, 0]])
    np.testing.assert_allclose(Gaussian(1.0)(far)[0, 1], math.exp(-1), rtol=1e-14)


@pytest.mark.parametrize("spread", [1.0, 1e4, 1e8])
def test_two_clusters_and_an_outlier_keep_their_digits(spread):
    """Around no centre is everybody's norm small."""
    points = np.random.default_rng(0).normal(size=(9, 2))
    points[:4] += spread
    points[4] = [-300 * spread, 7]
    exact = [[exact_distance(x, z) for z in points] for x in points]
    np.testing.assert_allclose(squared_distances(points, points), exact, rtol=1e-9)
    np.testing.assert_array_equal(np.diag(squared_distances(points, points)), 0)
    K = np.exp(-0.5 * np.array(exact))
    np.testing.assert_allclose(Gaussian(0.5)(points), K, rtol=1e-6)
    row = Gaussian(0.5).rows(points)
    np.testing.assert_allclose([row(i) for i in range(9)], K, rtol=1e-6, atol=1e-30)


def test_all_digits_around_the_centre():
    """A common shift leaves no trace: around 0 the squares would lose five digits."""
    points = 1e3 + 3 * np.random.default_rng(0).normal(size=(8, 2))
    exact = [[exact_distance(x, z) for z in points] for x in points]
    np.testing.assert_allclose(squared_distances(points, points), exact, rtol=1e-13)


def test_clusters_keep_nine_digits():
    """Their distances are a hundred-millionth of the squared norms."""
    points = np.random.default_rng(0).normal(size=(8, 2))
    points[:4] += 1e4
    exact = [[exact_distance(x, z) for z in points] for x in points]
    np.testing.assert_allclose(squared_distances(points, points), exact, rtol=1e-9)


def test_distances_as_scipy():
    expected = cdist(X, Z, "sqeuclidean")
    np.testing.assert_allclose(squared_distances(X, Z), expected)
    np.testing.assert_allclose(squared_distances(X.tolist(), Z.tolist()), expected)
    single = squared_distances(X.astype(np.float32), X.astype(np.float32) + 1e-3)
    assert single.dtype == np.float64
    np.testing.assert_array_equal(squared_distances(X), squared_distances(X, X))


def test_distances_in_blocks(monkeypatch):
    points = np.repeat(X, 3, axis=0) + 1e7
    whole = squared_distances(points, points)
    monkeypatch.setattr(MODULE + "NUMBERS_AT_ONCE", 400)
    np.testing.assert_array_equal(squared_distances(points, points), whole)
    np.testing.assert_allclose(whole, cdist(points, points, "sqeuclidean"), rtol=1e-9)


def test_every_block_has_its_own_norms(monkeypatch):
    """Near the centre nothing cancels; in the blocks far from it much does."""
    points = np.random.default_rng(0).normal(size=(12, 2))
    points[4:8] += 1e6
    points[8:] -= 1e6
    monkeypatch.setattr(MODULE + "NUMBERS_AT_ONCE", 4 * points.size)
    exact = [[exact_distance(x, z) for z in points] for x in points]
    np.testing.assert_allclose(squared_distances(points, points), exact, rtol=1e-9)


def memory(function, *arguments):
    """The most bytes held at once during a call."""
    tracemalloc.start()
    function(*arguments)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_memory_is_that_of_the_matrix():
    """Not n x m x d: 400 MB here."""
    points = np.random.default_rng(0).normal(size=(1000, 50))
    for kernel in (Gaussian(0.1), Laplacian(0.1), Gaussian(0.1) * Linear()):
        assert memory(kernel, points) < 6 * 8 * 1000**2


def test_memory_with_wide_points_that_occur_often():
    """Every pair must be subtracted: 900 MB at once for these 4 MB."""
    wide = np.random.default_rng(0).normal(size=(2, 2083))
    points = np.repeat(wide, 120, axis=0)
    assert memory(Gaussian(1e-3), points) < 5 * points.nbytes
    assert memory(squared_distances, points, points) < 5 * points.nbytes


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1.0, 2.0], [[1.0]], r"X must be 2-D, one point a row, got shape \(2,\)"),
        ([[1.0]], [1.0], r"Z must be 2-D, one point a row, got shape \(1,\)"),
        ([[1.0, 2.0]], [[1.0]], "X has 2 features and Z has 1"),
        (np.zeros((0, 2)), [[1.0, 2.0]], "X holds no points"),
        ([[1.0]], np.zeros((0, 1)), "Z holds no points"),
        (np.zeros((2, 0)), np.zeros((2, 0)), "X holds no features"),
        ([[np.nan]], [[1.0]], "X contains NaN"),
        ([[1.0]], [[np.inf]], "Z contains infinity"),
        ([[1e200]], [[-1e200]], "squared distances overflow on these points: scale"),
        ([[1e155]], [[0.0]], "squared distances overflow"),
        ([[1e200], [-1e200]], [[1e200], [-1e200]], "squared distances overflow"),
    ],
)
def test_bad_points_for_distances(first, second, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            squared_distances(first, second)


def test_distances_between_features():
    kernel = Polynomial(3, gamma=0.4)
    phi_x = polynomial_features(X, 3, 0.4, 1.0)
    phi_z = polynomial_features(Z, 3, 0.4, 1.0)
    np.testing.assert_allclose(
        squared_feature_distances(kernel, X, Z), cdist(phi_x, phi_z, "sqeuclidean")
    )
    own = squared_feature_distances(Gaussian(0.3), X)
    np.testing.assert_allclose(own, 2 - 2 * Gaussian(0.3)(X))
    np.testing.assert_allclose(
        squared_feature_distances(Linear(), X, Z), cdist(X, Z, "sqeuclidean")
    )


@pytest.mark.parametrize("name", VALID)
def test_no_point_is_far_from_itself(name):
    """The diagonal is exact, and elsewhere rounding is a share of k(x, x) + k(z, z)."""
    kernel, points = KERNELS[name], np.repeat(10 * X, 2, axis=0)
    squares = squared_feature_distances(kernel, points)
    np.testing.assert_array_equal(np.diag(squares), 0)
    own = kernel.diagonal(points)[::2]
    assert (np.abs(np.diag(squares[::2, 1::2])) <= 1e-14 * own).all()


# Rows


def exact_gaussian(points):
    return np.exp([[-exact_distance(x, z) for z in points] for x in points])


def test_rows_of_two_clusters_far_apart():
    """The exponent would be a difference of numbers near 5e8."""
    points = np.random.default_rng(0).normal(size=(9, 2))
    points[:4] += 1.6e4
    row = Gaussian(1.0).rows(points)
    K = exact_gaussian(points)
    np.testing.assert_allclose([row(i) for i in range(9)], K, rtol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_rows_prepare_what_they_share(monkeypatch, shift):
    """No row of ordinary points goes through the matrix, wherever they lie."""
    points = np.random.default_rng(0).normal(size=(9, 2)) + shift

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(MODULE + "_squared_distances", refuse)
    for kernel, weight in ((Gaussian(1.0), 1), (2 * Gaussian(1.0), 2)):
        row, K = kernel.rows(points), weight * exact_gaussian(points)
        np.testing.assert_allclose([row(i) for i in range(9)], K, rtol=1e-13)
    row = (Gaussian(1.0) + 3).rows(points)
    np.testing.assert_allclose(row(2), exact_gaussian(points)[2] + 3, rtol=1e-13)


def test_an_outlier_takes_no_digits_from_the_rows():
    """A mean would move by 100 and the exponents be differences of 10 000."""
    points = np.random.default_rng(0).normal(size=(9, 2))
    points[4] = [900.0, 0.0]
    row = Gaussian(1.0).rows(points)
    K = exact_gaussian(points)
    np.testing.assert_allclose([row(i) for i in range(9)], K, rtol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_rows_from_the_end_and_beyond(name):
    row = KERNELS[name].rows(X)
    np.testing.assert_array_equal(row(-1), row(len(X) - 1))
    with pytest.raises(IndexError):
        row(len(X))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3), Polynomial(2) + 1])
def test_rows_are_those_of_their_moment(kernel):
    points = X.copy()
    kernel = check_kernel(kernel)
    before, row = kernel(points), kernel.rows(points)
    points[:] = 0
    for name in kernel.get_params():
        if name.endswith("gamma"):
            kernel.set_params(**{name: 50.0})
    np.testing.assert_allclose([row(i) for i in range(len(X))], before, rtol=1e-12)
    row(0)[:] = 7
    np.testing.assert_allclose(row(0), before[0], rtol=1e-12)


# Limits and errors


def test_overflow_is_an_error_everywhere():
    large = [[1e200, 1.0], [0.0, 1.0]]
    message = (
        "overflows on these points: scale the features or lower the degree, coef0 or "
        "constants"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (Linear(), Polynomial(3), Gaussian(), 0 * Polynomial(9)):
            with pytest.raises(ValueError, match=message):
                kernel(large)
            with pytest.raises(ValueError, match=message):
                kernel.rows(large)(0)
        for kernel in (Linear(), Polynomial(3), 0 * Polynomial(9), Linear() + 1):
            with pytest.raises(ValueError, match=message):
                kernel.diagonal(large)
        for kernel in (1e308 * Linear() + 1e308, Polynomial(coef0=1e200)):
            with pytest.raises(ValueError, match=message):
                kernel(X)
        with pytest.raises(ValueError, match=message):
            Gaussian().rows([[1.5e308], [-1.5e308], [-1.5e308]])(0)
        with pytest.raises(ValueError, match=message):
            squared_feature_distances(Linear(), [[1.2e154], [-1.2e154]])


def test_gamma_as_large_as_a_float():
    points = 1e-155 * X
    for i, row in enumerate(Gaussian(1e308)(points)):
        np.testing.assert_allclose(row, np.exp(-0.01 * exact_square(X[i], X)))
        np.testing.assert_allclose(Gaussian(1e308).rows(points)(i), row, rtol=1e-12)


def exact_square(x, points):
    return ((x - points) ** 2).sum(axis=1)


@pytest.mark.parametrize(
    "number",
    [np.uint8(2), np.int8(100), np.int64(3), np.float16(40000), np.float32(0.1),
     Fraction(1, 3)],
)
@pytest.mark.parametrize(
    "make",
    [Gaussian, Laplacian, Constant, Sigmoid, lambda v: Sigmoid(0.1, coef0=v),
     lambda v: Polynomial(2, v), lambda v: Polynomial(2, coef0=v),
     lambda v: v * Linear()],
)
def test_parameters_of_every_kind_of_number(make, number):
    """A kernel counts in float64, not in the type of its parameter."""
    kernel, plain = make(number), make(float(number))
    points = X / 100
    K = plain(points)
    assert kernel(points).dtype == np.float64
    np.testing.assert_array_equal(kernel(points), K)
    np.testing.assert_array_equal(kernel.diagonal(points), plain.diagonal(points))
    np.testing.assert_allclose(kernel.rows(points)(1), K[1], rtol=1e-9)


def test_a_degree_beyond_every_integer_type():
    K = Polynomial(10**30, coef0=0.5)([[0.1]])
    assert K.dtype == np.float64 and K.item() == 0


@pytest.mark.parametrize("degree", [np.uint8(3), np.int8(3), np.int64(3)])
def test_degrees_of_every_kind_of_whole_number(degree):
    np.testing.assert_array_equal(Polynomial(degree)(X), Polynomial(3)(X))
    np.testing.assert_array_equal(
        Polynomial(degree).diagonal(X), Polynomial(3).diagonal(X)
    )


def test_limits_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Laplacian()([[1e308]], [[-1e308]]).item() == 0
        assert Gaussian()([[0.0]], [[1e100]]).item() == 0
        assert Sigmoid()([[1e100]], [[-1e100]]).item() == -1
        assert gram(Linear(), [[1.3e154]]).item() == pytest.approx(1.69e308)


def test_integers_float32_and_read_only_arrays():
    whole = np.array([[5, 7], [2, 4]])
    for kernel in KERNELS.values():
        np.testing.assert_array_equal(kernel(whole), kernel(whole.astype(float)))
    single = X.astype(np.float32)
    K = Gaussian(0.2)(single)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, Gaussian(0.2)(single.astype(np.float64)))
    frozen = X.copy()
    frozen.flags.writeable = False
    for kernel in KERNELS.values():
        kernel(frozen)[:] = 0  # a result of one's own, not a view of X
    np.testing.assert_array_equal(frozen, X)


def test_the_same_points_twice_give_the_same_rows():
    twice = np.repeat(X, 2, axis=0)
    for kernel in KERNELS.values():
        K = gram(kernel, twice)
        np.testing.assert_allclose(K[::2], K[1::2], rtol=1e-13)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros(3), r"2-D, one point a row, got shape \(3,\)"),
        (np.zeros((2, 2, 2)), "2-D, one point a row"),
        (np.zeros((0, 3)), r"holds no points: its shape is \(0, 3\)"),
        (np.zeros((3, 0)), r"holds no features: its shape is \(3, 0\)"),
        (np.zeros((2, 2)), "X has 2 features and Z has 3"),
        ([[np.nan, 0, 0]], "X contains NaN"),
        ([[np.inf, 0, 0]], "X contains infinity"),
        ([["a", "b", "c"]], "X must be numeric"),
    ],
)
def test_bad_points(points, message):
    with pytest.raises(ValueError, match=message):
        Gaussian()(points, Z)


def test_a_bad_second_array_is_reported_as_such():
    bad = np.full((2, 3), np.nan)
    for use in (Gaussian(), lambda *q: squared_feature_distances(Gaussian(), *q)):
        with pytest.raises(ValueError, match="Input Z contains NaN"):
            use(X, bad)
        with pytest.raises(ValueError, match="Input X contains NaN"):
            use(bad, Z)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (Gaussian(0), ValueError, "gamma must be finite and > 0, got 0"),
        (Gaussian(-1.0), ValueError, "gamma must be finite and > 0"),
        (Gaussian(np.inf), ValueError, "gamma must be finite"),
        (Gaussian(np.nan), ValueError, "gamma must be finite"),
        (Gaussian("scale"), TypeError, "gamma must be a number, got 'scale'"),
        (Gaussian(True), TypeError, "gamma must be a number"),
        (Laplacian(0), ValueError, "gamma must be finite and > 0"),
        (Polynomial(0), ValueError, "degree must be >= 1, got 0"),
        (Polynomial(2.5), TypeError, "degree must be a whole number, got 2.5"),
        (Polynomial(True), TypeError, "degree must be a whole number"),
        (Polynomial(10**400), ValueError, "degree must be finite, got 1000"),
        (Polynomial(gamma=0), ValueError, "gamma must be finite and > 0"),
        (Polynomial(coef0=-1), ValueError, "coef0 must be finite and >= 0"),
        (Sigmoid(coef0=np.inf), ValueError, "coef0 must be finite, got inf"),
        (-1 * Linear(), ValueError, "value must be finite and >= 0, got -1"),
        (Linear() + Gaussian(-1), ValueError, "gamma must be"),
    ],
)
def test_bad_parameters(kernel, error, message):
    for use in (kernel, kernel.diagonal, kernel.rows, lambda _: check_kernel(kernel)):
        with pytest.raises(error, match=message):
            use(X)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match=r"such as Gaussian\(gamma=1.0\), got 'rbf'"):
        check_kernel("rbf")
    for use in (gram, squared_feature_distances):
        with pytest.raises(TypeError, match=r"Gaussian\(gamma=1.0\), got 'rbf'"):
            use("rbf", X)
        with pytest.raises(TypeError, match="must be a kernel object such as"):
            use(Gaussian, X)
    with pytest.raises(TypeError, match="cannot combine a kernel with 'rbf'"):
        Linear() + "rbf"
    broken = (Linear() + Gaussian()).set_params(left=3)
    with pytest.raises(TypeError, match="3 is not a kernel"):
        broken(X)


def test_a_fitted_model_keeps_its_kernel():
    model = SVC(kernel=Gaussian(0.5)).fit(X, np.arange(12) % 2)
    before = model.decision_function(X)
    model.set_params(kernel__gamma=5.0)
    assert repr(check_kernel(model.kernel)) == "Gaussian(gamma=5.0)"
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_checked_kernel_shares_nothing_with_the_original():
    kernel = Linear() + 2 * Gaussian(0.5)
    kept = check_kernel(kernel)
    before = kept(X)
    kernel.set_params(right__right__gamma=5.0, right__left__value=0.0)
    np.testing.assert_array_equal(kept(X), before)


# In scikit-learn's company


def test_defaults():
    defaults = {
        Linear: {},
        Constant: {"value": 1.0},
        Polynomial: {"degree": 3, "gamma": 1.0, "coef0": 1.0},
        Gaussian: {"gamma": 1.0},
        Laplacian: {"gamma": 1.0},
        Sigmoid: {"gamma": 1.0, "coef0": 0.0},
    }
    for kind, parameters in defaults.items():
        assert kind().get_params() == parameters


def test_parameters_clone_and_repr():
    kernel = Linear() + 2 * Gaussian(gamma=0.25)
    twin = clone(SVC(kernel=kernel)).kernel
    assert twin is not kernel and repr(twin) == repr(kernel)
    np.testing.assert_array_equal(twin(X), kernel(X))
    twin.set_params(right__right__gamma=4.0)
    np.testing.assert_allclose(twin(X), Linear()(X) + 2 * Gaussian(4.0)(X))
    assert kernel.right.right.gamma == 0.25
    assert repr(Gaussian(gamma=0.25)) == "Gaussian(gamma=0.25)"


def test_grid_search_reaches_into_a_kernel():
    angle = rng.uniform(0, 2 * np.pi, 60)
    radius = np.repeat([1.0, 2.0], 30)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    search = GridSearchCV(SVC(kernel=Gaussian()), {"kernel__gamma": [1e-6, 1.0]}, cv=3)
    search.fit(points, radius > 1.5)
    assert search.best_params_ == {"kernel__gamma": 1.0}
    assert search.best_score_ > 0.95
