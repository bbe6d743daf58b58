"""Numerical derivatives, to hold analytic ones against.

The complex step f'(x) = Im f(x + ih) / h subtracts nothing, so it is exact to rounding,
but it needs an f that takes complex numbers and is analytic in them. Central
differences (f(x + h) - f(x - h)) / 2h work for every smooth f and lose a third of the
digits. By default both are computed: the complex step is believed where the two agree.
Where they differ, f does not let the imaginary part through (abs, conj, real, a norm, a
Cholesky factor, an array of floats that is written into do not) and central differences
are what counts.

The layout is the denominator layout: the derivative by x begins with the axes of x, so
that jacobian[i, j] = d f_j / d x_i and the gradient of a number has the shape of x.

Sources: Squire and Trapp (1998), Nocedal and Wright (2006, section 8.1).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlbook.validation import Floats, as_float

METHODS = ("auto", "complex", "central")
COMPLEX_STEP = 1e-100


class GradientError(AssertionError):
    """An analytic derivative differs from the numerical one."""


def gradient(
    f: Callable[[Any], ArrayLike], x: ArrayLike, method: str = "auto"
) -> Floats:
    """Return the derivative of the number f(x) by x, of the shape of x.

    Parameters
    ----------
    f : callable, from an array of the shape of x to one number
    x : array-like of any shape, real and finite
    method : "auto", "complex" or "central"

    Raises ValueError where f returns another shape or values that are not finite, and
    for method "complex" where f returns a real number for complex x.
    """
    derivative = _Derivative(f, x, method)
    if derivative.value.ndim != 0:
        raise ValueError(
            f"f must return one number, got shape {derivative.value.shape}; "
            "jacobian differentiates arrays."
        )
    return derivative.array


def jacobian(
    f: Callable[[Any], ArrayLike], x: ArrayLike, method: str = "auto"
) -> Floats:
    """Return all derivatives of the array f(x) by x, of shape x.shape + f(x).shape.

    For vectors entry [i, j] is d f_j / d x_i. Arguments and errors as in ``gradient``.
    """
    return _Derivative(f, x, method).array


def check_gradient(
    f: Callable[[Any], ArrayLike],
    gradient: Callable[[Any], ArrayLike] | ArrayLike,
    x: ArrayLike,
    rtol: float = 1e-6,
    method: str = "auto",
) -> float:
    """Compare an analytic derivative with the numerical one, entry by entry.

    Parameters
    ----------
    f : callable, from an array of the shape of x to a number or an array
    gradient : the derivative at x, or a callable that returns it, of shape
        x.shape + f(x).shape
    x : array-like of any shape, real and finite
    rtol : float, the largest relative error that passes. Entries below what the
        numerical derivative resolves are compared with that resolution instead.
    method : "auto", "complex" or "central"

    Returns
    -------
    float, the largest relative error

    Raises
    ------
    GradientError
        An AssertionError that shows the worst entry and both of its values.
    ValueError
        For a derivative of another shape or that is not finite, and for a bad rtol.
    """
    if not 0 < rtol < 1:
        raise ValueError(f"rtol must lie between 0 and 1, got {rtol!r}.")
    numerical = _Derivative(f, x, method)
    analytic = gradient(numerical.x.copy()) if callable(gradient) else gradient
    analytic = as_float(analytic, "the analytic derivative")
    expected = numerical.array
    if analytic.shape != expected.shape:
        raise ValueError(
            f"the analytic derivative must have shape {expected.shape} (the axes of x, "
            f"then those of f), got {analytic.shape}."
        )
    if analytic.size == 0:
        return 0.0
    size = np.maximum(np.abs(analytic), np.abs(expected))
    error = np.abs(analytic - expected)
    relative = error / np.maximum(size, numerical.resolution / rtol)
    worst = np.unravel_index(int(relative.argmax()), relative.shape)
    if relative[worst] > rtol:
        raise GradientError(
            f"derivative{list(map(int, worst))}: analytic {analytic[worst]:.10g}, "
            f"numerical {expected[worst]:.10g} ({numerical.method}), relative error "
            f"{relative[worst]:.3g} > {rtol:g}; {int((relative > rtol).sum())} of "
            f"{relative.size} entries differ."
        )
    return float(relative[worst])


class _Derivative:
    """The derivative of f at x, the method that gave it, and what it resolves.

    Attributes
    ----------
    array : ndarray of shape x.shape + f(x).shape
    resolution : float, the size of its rounding errors
    """

    def __init__(self, f: Callable, x: ArrayLike, method: str) -> None:
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
        self.f, self.x = f, as_float(x, "x")
        value = np.asarray(f(self.x.copy()))
        self.value = as_float(value, "f(x)")
        self.eps = float(np.finfo(np.result_type(value, np.float32)).eps)
        if method == "complex":
            self._set(self._complex_step(), "complex step")
            return
        self._set(self._central_differences(), "central differences")
        if method == "auto":
            candidate = self._complex_step_or_none()
            if candidate is not None and np.allclose(
                candidate, self.array, rtol=1e-4, atol=self.resolution
            ):
                self._set(candidate, "complex step")

    def _set(self, array: Floats, method: str) -> None:
        self.array, self.method = array, method
        scale = float(np.abs(self.value).max(initial=0))
        scale += float(np.abs(array).max(initial=0))
        lost = 50 * self.eps if method == "complex step" else 3 * self.eps ** (2 / 3)
        self.resolution = max(lost * scale, 1e-15)

    def _central_differences(self) -> Floats:
        columns = []
        for index in np.ndindex(self.x.shape):
            above, below = self.x.copy(), self.x.copy()
            h = self.eps ** (1 / 3) * max(1.0, abs(float(self.x[index])))
            above[index] += h
            below[index] -= h
            width = float(above[index] - below[index])  # 2h as rounded
            columns.append((self._at(above) - self._at(below)) / width)
        return self._assembled(columns)

    def _at(self, x: Floats) -> Floats:
        return as_float(self.f(x), "f near x")

    def _complex_step(self) -> Floats:
        columns = []
        for index in np.ndindex(self.x.shape):
            z = self.x.astype(complex)
            z[index] += COMPLEX_STEP * 1j
            value = np.asarray(self.f(z))
            if value.dtype.kind != "c":
                raise ValueError(
                    "f returned a real value for complex x, so the complex step cannot "
                    'see its derivative; use method="central".'
                )
            columns.append(value.imag / COMPLEX_STEP)
        return self._assembled(columns)

    def _complex_step_or_none(self) -> Floats | None:
        # f works for real x, so whatever goes wrong here does because x is complex.
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return self._complex_step()
        except Exception:  # noqa: BLE001
            return None

    def _assembled(self, columns: list[Floats]) -> Floats:
        array = np.array(columns, dtype=np.float64)
        return as_float(array.reshape(self.x.shape + self.value.shape), "derivative")
