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
PAIRS_AT_ONCE = 2**16  # differences of points held in memory at once


def squared_distances(X: Floats, Z: Floats) -> Floats:
    """Squared Euclidean distances of all pairs, shape (n, m), never negative.

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
    n_rows = max(1, PAIRS_AT_ONCE // len(Z))
    for start in range(0, len(X), n_rows):
        block = slice(start, start + n_rows)
        i, j = np.nonzero(squares[block] < CANCELLATION * norms[block, None])
        difference = X[start + i] - Z[j]
        squares[start + i, j] = np.einsum("ij,ij->i", difference, difference)
    return squares


class Kernel(Parameters):
    """A symmetric function of two points, evaluated for all pairs at once."""

    __array_ufunc__ = None  # an array times a kernel is an error, not many kernels

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Floats:
        """Return the matrix k(x_i, z_j) of shape (n, m); Z is X by default.

        Raises ValueError for arrays that are not 2-D, differ in their columns, or hold
        NaN or infinity, and if the values overflow.
        """
        self.check_parameters()
        same = Z is None
        X = _points(X, "X")
        Z = X if same else _points(Z, "Z")
        if X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features and Z has {Z.shape[1]}: points must have "
                "the same number."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._pairs(X, Z))

    def diagonal(self, X: ArrayLike) -> Floats:
        """Return k(x_i, x_i) for every row, shape (n,); raises as a call does."""
        self.check_parameters()
        with np.errstate(over="ignore", invalid="ignore"):
            return self._finite(self._diagonal(_points(X, "X")))

    def rows(self, X: ArrayLike) -> Callable[[int], Floats]:
        """Return a function of i that computes row i of the matrix of all pairs.

        What the rows have in common is prepared once. The values may differ from
        those of a call by rounding.
        """
        self.check_parameters()
        with np.errstate(over="ignore", invalid="ignore"):
            return self._rows(_points(X, "X"))

    def check_parameters(self) -> None:
        """Raise ValueError for a parameter outside its range."""

    def _finite(self, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise ValueError(f"{self} overflows on these points: scale the features.")
        return values

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        def row(i: int) -> Floats:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._finite(self._pairs(X[i : i + 1], X)[0])

        return row

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
        check_integer("degree", self.degree, low=1)
        check_number("gamma", self.gamma, above=0)
        check_number("coef0", self.coef0, low=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return (self.gamma * (X @ Z.T) + self.coef0) ** self.degree

    def _diagonal(self, X: Floats) -> Floats:
        squares = np.einsum("ij,ij->i", X, X)
        return (self.gamma * squares + self.coef0) ** self.degree


class Gaussian(Kernel):
    """exp(-gamma |x - z|^2), scikit-learn's "rbf"; gamma in 1 / (feature units)^2."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        exponent = squared_distances(X, Z)
        exponent *= -self.gamma
        return np.exp(exponent, out=exponent)

    def _rows(self, X: Floats) -> Callable[[int], Floats]:
        # -gamma |x - z|^2 = (x, 1, -gamma |x|^2) . (2 gamma z, -gamma |z|^2, 1): one
        # product gives the exponent, which rounding can lift a little above 0
        centred = X - np.median(X, axis=0)  # far points do not move a median far
        squares = -self.gamma * np.einsum("ij,ij->i", centred, centred)
        if squares.min() < -LARGEST_EXPONENT:
            return super()._rows(X)
        ones = np.ones(len(X))
        left = np.column_stack([centred, ones, squares])
        right = np.vstack([2 * self.gamma * centred.T, squares, ones])

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
        distance *= -self.gamma
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
        return np.tanh(self.gamma * (X @ Z.T) + self.coef0)

    def _diagonal(self, X: Floats) -> Floats:
        return np.tanh(self.gamma * np.einsum("ij,ij->i", X, X) + self.coef0)


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

    def _diagonal(self, X: Floats) -> Floats:
        return self.left._diagonal(X) + self.right._diagonal(X)


class Product(_Pair):
    """k1 k2: all products of a feature of one with a feature of the other."""

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return self.left._pairs(X, Z) * self.right._pairs(X, Z)

    def _diagonal(self, X: Floats) -> Floats:
        return self.left._diagonal(X) * self.right._diagonal(X)


def squared_feature_distances(
    kernel: Kernel, X: ArrayLike, Z: ArrayLike | None = None
) -> Floats:
    """Squared distances of the feature vectors of all pairs; Z is X by default.

    Entry (i, j) of the matrix of shape (n, m) is |phi(x_i) - phi(z_j)|^2 = k(x_i, x_i)
    - 2 k(x_i, z_j) + k(z_j, z_j). For a kernel that is not positive semi-definite there
    is no phi, and an entry can be negative. Raises as a call of the kernel does.
    """
    own = kernel.diagonal(X)
    return own[:, None] - 2 * kernel(X, Z) + (own if Z is None else kernel.diagonal(Z))


def gram(kernel: Kernel, X: ArrayLike) -> Floats:
    """Return the Gram matrix k(x_i, x_j), shape (n, n), exactly symmetric."""
    half = kernel(X) / 2
    return half + half.T


def is_positive_semidefinite(K: ArrayLike, tolerance: float = 1e-10) -> bool:
    """Say whether a symmetric matrix has no eigenvalue below zero, up to rounding.

    ``tolerance`` is relative to the largest absolute eigenvalue: a Gram matrix of rank
    r < n has eigenvalues that are 0 on paper and a little off in floating point.
    Raises ValueError if ``K`` is not square or not symmetric, and for a tolerance that
    is not between 0 and 1.
    """
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [0, 1), got {tolerance!r}.")
    K = as_float(K, "K")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        raise ValueError(f"K must be a square matrix, got shape {K.shape}.")
    if not np.allclose(K, K.T, rtol=1e-10, atol=1e-12 * np.abs(K).max(initial=0)):
        raise ValueError("K must be symmetric.")
    eigenvalues = np.linalg.eigvalsh(K)
    return bool(eigenvalues[0] >= -tolerance * np.abs(eigenvalues).max())


def check_kernel(kernel: Any) -> Kernel:
    """Return a copy of ``kernel`` if it is one with valid parameters.

    A copy, so that a fitted model does not change with its estimator's parameters.
    Raises TypeError for anything else and ValueError for parameters out of range.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel must be a kernel object such as Gaussian(gamma=1.0), got "
            f"{kernel!r}."
        )
    kernel.check_parameters()
    return copy.deepcopy(kernel)


def _as_kernel(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value))
    raise TypeError(f"cannot combine a kernel with {value!r}: expected a kernel or a "
                    "number >= 0.")


def _points(values: ArrayLike, name: str) -> Floats:
    points = as_float(values, name)
    if points.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, one point a row, got shape {points.shape}."
        )
    if len(points) == 0:
        raise ValueError(f"{name} holds no points: its shape is {points.shape}.")
    return points
