"""Kernel functions: inner products of features that are never computed.

A kernel is an object; called with two arrays of points it returns the matrix of all
pairs. Kernels combine with + and *, which the closure rules allow::

    kernel = Linear() + 0.5 * Gaussian(gamma=2.0)
    K = kernel(X, Z)          # entry (i, j) is k(X[i], Z[j])

Their parameters follow scikit-learn's ``get_params`` and ``set_params``, so a grid
search can reach them as ``kernel__gamma``.

Sources: Mercer (1909); Aronszajn (1950) for the closure rules; Schoelkopf and Smola
(2002).
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Parameters
from mlbook.validation import Floats, as_float, check_integer, check_number

# a squared distance below this share of the squared norms has lost six digits to them
CANCELLATION = 1e-6
# exponents that are sums of terms of this size keep nine digits
LARGEST_EXPONENT = 1e6
NUMBERS_AT_ONCE = 2**18  # entries of points to be subtracted held in memory at once


def squared_distances(X: ArrayLike, Z: ArrayLike | None = None) -> Floats:
    """Squared Euclidean distances of all pairs, shape (n, m), never negative.

    X has shape (n, d) and Z (m, d), in the same units; Z is X by default. Raises
    ValueError for arrays that are not 2-D, are empty, differ in their columns, or hold
    NaN or infinity, and if the squares overflow.
    """
    X, Z = _two_sets(X, Z)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = _squared_distances(X, Z)
    if not np.isfinite(squares).all():
        raise ValueError(
            "squared distances overflow on these points: scale the features."
        )
    return squares


def _squared_distances(X: Floats, Z: Floats) -> Floats:
    """The same for arrays that have been checked; what overflows is inf or NaN.

    Expanded as |x|^2 - 2 x'z + |z|^2 around the mean of ``Z``. The expansion loses the
    digits that the norms have beyond the distances. Centring makes the norms small, and
    pairs that still lose more than about six digits are computed from their difference.
    """
    centre = Z.mean(axis=0)
    from_centre, Z_from_centre = X - centre, Z - centre
    norms = np.einsum("ij,ij->i", from_centre, from_centre)
    squares = from_centre @ Z_from_centre.T
    squares *= -2
    squares += norms[:, None]
    squares += np.einsum("ij,ij->i", Z_from_centre, Z_from_centre)
    # |z| is at most |x| plus the distance, so the norm of x alone tells
    n_rows = max(1, NUMBERS_AT_ONCE // Z.size)
    for start in range(0, len(X), n_rows):
        block = slice(start, start + n_rows)
        i, j = np.nonzero(squares[block] < CANCELLATION * norms[block, None])
        difference = X[start + i]
        difference -= Z[j]
        squares[start + i, j] = np.einsum("ij,ij->i", difference, difference)
    return squares


class Kernel(Parameters):
    """A symmetric function of two points, evaluated for all pairs at once."""

    __array_ufunc__ = None  # an array times a kernel is an error, not many kernels

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Floats:
        """Return the matrix k(x_i, z_j) of shape (n, m); Z is X by default.

        Raises ValueError for arrays that are not 2-D, are empty, differ in their
        columns, or hold NaN or infinity, and if the values overflow.
        """
        self.check_parameters()
        X, Z = _two_sets(X, Z)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._pairs(X, Z))

    def diagonal(self, X: ArrayLike) -> Floats:
        """Return k(x_i, x_i) for every row, shape (n,); raises as a call does."""
        self.check_parameters()
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._diagonal(_points(X, "X")))

    def rows(self, X: ArrayLike) -> Callable[[int], Floats]:
        """Return a function of i that computes row i of the matrix of all pairs.

        A negative i counts from the last point. What the rows have in common is
        prepared once, for the points and parameters of this moment: later changes to
        ``X`` or to the kernel do not reach the rows. Values may differ from those of a
        call by rounding: in a Gaussian row by up to about 1e-9 of themselves. Raises
        as a call does; a row that overflows raises when it is computed.
        """
        kernel, points = check_kernel(self), _points(X, "X").copy()
        with np.errstate(over="ignore", invalid="ignore"):
            compute = kernel._rows(points)

        def row(i: int) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                return kernel._finite(compute(i))

        return row

    def check_parameters(self) -> None:
        """Raise ValueError for a parameter outside its range."""

    def _finite(self, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise ValueError(
                f"{self} overflows on these points: scale the features or lower the "
                "degree, coef0 or constants."
            )
        return values

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        return lambda i: self._pairs(X[[i]], X)[0]

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        raise NotImplementedError

    def _diagonal(self, X: Floats) -> Floats:
        raise NotImplementedError

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _as_kernel(other))

    def __radd__(self, other: float) -> Kernel:
        return Sum(_as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, _as_kernel(other))

    def __rmul__(self, other: float) -> Kernel:
        return Product(_as_kernel(other), self)


class Constant(Kernel):
    """The same value for every pair, which must not be negative."""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def check_parameters(self) -> None:
        check_number("value", self.value, low=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return np.full((len(X), len(Z)), float(self.value))

    def _diagonal(self, X: Floats) -> Floats:
        return np.full(len(X), float(self.value))


class Linear(Kernel):
    """The inner product x'z itself."""

    def __init__(self) -> None:
        pass

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return X @ Z.T

    def _diagonal(self, X: Floats) -> Floats:
        return np.einsum("ij,ij->i", X, X)


class Polynomial(Kernel):
    """(gamma x'z + coef0)^degree: all products of up to ``degree`` features.

    Positive semi-definite for a whole degree >= 1, gamma > 0 and coef0 >= 0.
    """

    def __init__(
        self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def check_parameters(self) -> None:
        degree = check_integer("degree", self.degree, low=1)
        check_number("degree", degree)  # a whole number may be too large for a float
        check_number("gamma", self.gamma, above=0)
        check_number("coef0", self.coef0, low=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        gamma, coef0 = float(self.gamma), float(self.coef0)
        return (gamma * (X @ Z.T) + coef0) ** float(self.degree)

    def _diagonal(self, X: Floats) -> Floats:
        gamma, coef0 = float(self.gamma), float(self.coef0)
        return (gamma * np.einsum("ij,ij->i", X, X) + coef0) ** float(self.degree)


class Gaussian(Kernel):
    """exp(-gamma |x - z|^2), scikit-learn's "rbf"; gamma in 1 / (feature units)^2."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        exponent = _squared_distances(X, Z)
        exponent *= -float(self.gamma)  # as a NumPy integer it would wrap around
        return np.exp(exponent, out=exponent)

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        # -gamma |x - z|^2 = (x, 1, -gamma |x|^2) . (2 gamma z, -gamma |z|^2, 1): one
        # product gives the exponent, which rounding can lift a little above 0
        gamma = float(self.gamma)
        centred = X - np.median(X, axis=0)  # far points do not move a median far
        squares = -gamma * np.einsum("ij,ij->i", centred, centred)
        if squares.min() < -LARGEST_EXPONENT:
            return super()._rows(X)
        ones = np.ones(len(X))
        left = np.column_stack([centred, ones, squares])
        right = np.vstack([2 * (gamma * centred.T), squares, ones])

        def row(i: int) -> Floats:
            exponent = left[i] @ right
            return np.exp(exponent, out=exponent)

        return row

    def _diagonal(self, X: Floats) -> Floats:
        return np.ones(len(X))


class Laplacian(Kernel):
    """exp(-gamma sum_k |x_k - z_k|); gamma in 1 / (feature units)."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        distance = np.zeros((len(X), len(Z)))
        for k in range(X.shape[1]):  # a feature at a time keeps the memory at n x m
            distance += np.abs(X[:, k, None] - Z[:, k])
        distance *= -float(self.gamma)
        return np.exp(distance, out=distance)

    def _diagonal(self, X: Floats) -> Floats:
        return np.ones(len(X))


class Sigmoid(Kernel):
    """tanh(gamma x'z + coef0), which is NOT positive semi-definite in general."""

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma)
        check_number("coef0", self.coef0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return np.tanh(float(self.gamma) * (X @ Z.T) + float(self.coef0))

    def _diagonal(self, X: Floats) -> Floats:
        squares = np.einsum("ij,ij->i", X, X)
        return np.tanh(float(self.gamma) * squares + float(self.coef0))


class _Pair(Kernel):
    """Two kernels combined."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def check_parameters(self) -> None:
        for kernel in (self.left, self.right):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{kernel!r} is not a kernel.")
            kernel.check_parameters()


class Sum(_Pair):
    """k1 + k2: the two feature spaces side by side."""

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return self.left._pairs(X, Z) + self.right._pairs(X, Z)

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        left, right = self.left._rows(X), self.right._rows(X)
        return lambda i: left(i) + right(i)

    def _diagonal(self, X: Floats) -> Floats:
        return self.left._diagonal(X) + self.right._diagonal(X)


class Product(_Pair):
    """k1 k2: all products of a feature of one with a feature of the other."""

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return self.left._pairs(X, Z) * self.right._pairs(X, Z)

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        left, right = self.left._rows(X), self.right._rows(X)
        return lambda i: left(i) * right(i)

    def _diagonal(self, X: Floats) -> Floats:
        return self.left._diagonal(X) * self.right._diagonal(X)


def squared_feature_distances(
    kernel: Kernel, X: ArrayLike, Z: ArrayLike | None = None
) -> Floats:
    """Squared distances of the feature vectors of all pairs; Z is X by default.

    Entry (i, j) of the matrix of shape (n, m) is |phi(x_i) - phi(z_j)|^2 = k(x_i, x_i)
    - 2 k(x_i, z_j) + k(z_j, z_j), in the units of the kernel's values. Rounding moves
    it by about eps (k(x_i, x_i) + k(z_j, z_j)), eps = 2.2e-16, and some times as much
    for a high degree or many features: for points near each other an entry can come
    out a little below zero. Without ``Z`` the diagonal is exactly 0. For a kernel that
    is not positive semi-definite there is no phi, and an entry can be far below zero.
    Raises TypeError for what is no kernel, else as a call does.
    """
    _check_is_kernel(kernel)
    same = Z is None
    X, Z = _two_sets(X, Z)
    own = kernel.diagonal(X)
    other = own if same else kernel.diagonal(Z)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = own[:, None] - 2 * kernel(X, Z) + other
    if same:
        np.fill_diagonal(squares, 0.0)
    return kernel._finite(squares)


def gram(kernel: Kernel, X: ArrayLike) -> Floats:
    """Return the Gram matrix k(x_i, x_j), shape (n, n), exactly symmetric.

    Raises TypeError for what is no kernel, else as a call does.
    """
    _check_is_kernel(kernel)
    half = kernel(X) / 2
    return half + half.T


def is_positive_semidefinite(K: ArrayLike, tolerance: float = 1e-10) -> bool:
    """Say whether a symmetric matrix has no eigenvalue below zero, up to rounding.

    ``tolerance`` is relative to the largest absolute eigenvalue: a Gram matrix of rank
    r < n has eigenvalues that are 0 on paper and a little off in floating point.
    Raises ValueError if ``K`` is not square or not symmetric, and for a tolerance that
    is not between 0 and 1, TypeError for one that is no number.
    """
    tolerance = check_number("tolerance", tolerance, low=0, below=1)
    shape = np.shape(K)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(
            "K must be a square matrix such as gram(kernel, X), got a "
            f"{type(K).__name__} of shape {shape}."
        )
    K = as_float(K, "K")
    K = K / (np.abs(K).max() or 1.0)  # or the eigenvalues of large entries overflow
    if not np.allclose(K, K.T, rtol=1e-10, atol=1e-12):
        raise ValueError("K must be symmetric.")
    eigenvalues = np.linalg.eigvalsh(K)
    return bool(eigenvalues[0] >= -tolerance * np.abs(eigenvalues).max())


def check_kernel(kernel: Any) -> Kernel:
    """Return a copy of ``kernel`` if it is one with valid parameters.

    A copy, so that a fitted model does not change with its estimator's parameters.
    Raises TypeError for anything else and ValueError for parameters out of range.
    """
    _check_is_kernel(kernel)
    kernel.check_parameters()
    return copy.deepcopy(kernel)


def _check_is_kernel(kernel: Any) -> None:
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel must be a kernel object such as Gaussian(gamma=1.0), got "
            f"{kernel!r}."
        )


def _as_kernel(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(check_number("a number combined with a kernel", value))
    raise TypeError(f"cannot combine a kernel with {value!r}: expected a kernel or a "
                    "number >= 0.")


def _points(values: ArrayLike, name: str) -> Floats:
    points = as_float(values, name)
    if points.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, one point a row, got shape {points.shape}."
        )
    for size, what in zip(points.shape, ("points", "features")):
        if size == 0:
            raise ValueError(f"{name} holds no {what}: its shape is {points.shape}.")
    return points


def _two_sets(X: ArrayLike, Z: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return both sets of points, of equal width; Z is X if it is None."""
    X = _points(X, "X")
    Z = X if Z is None else _points(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features and Z has {Z.shape[1]}: points must have "
            "the same number."
        )
    return X, Z
