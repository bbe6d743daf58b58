"""Ridge regression: least squares with a penalty on the squared coefficients.

Sources: Hoerl and Kennard (1970); Cox and Higham (1998) for the order of the rows;
Demmel and Veselic (1992) for singular values of columns that differ in scale.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.validation import Floats, check_number

MAX_SWEEPS = 30  # of _svd_by_rotations, which takes about ten


class Ridge(Regressor):
    """Minimise sum_i s_i (y_i - b - w'x_i)^2 + alpha |w|^2 over w and b.

    The intercept b is not penalised; s are the sample weights. scikit-learn's Ridge
    minimises the same.

    Parameters
    ----------
    alpha : float >= 0, in squared units of X. With 0 it is least squares, and where
        that leaves w undetermined, the shortest w.

    Attributes
    ----------
    coef_ : ndarray of shape (d,), w, in units of y per unit of X
    intercept_ : float, b, in units of y
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Ridge:
        """Fit to X of shape (n, d) and y of shape (n,).

        Raises ValueError or TypeError for a bad alpha and for bad data.
        """
        alpha = check_number("alpha", self.alpha, low=0)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            centred, X_mean = centre(X, weight)
            y_mean = weight @ y / weight.sum()
            root = np.sqrt(weight)
            self.coef_ = solve_ridge(
                root[:, np.newaxis] * centred, root * (y - y_mean), alpha
            )
            self.intercept_ = float(y_mean - X_mean @ self.coef_)
        refuse_overflow(self.intercept_, "the intercept")
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return b + X w, of shape (m,), in units of y."""
        X = self._check_new_data(X)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_overflow(X @ self.coef_ + self.intercept_, "a prediction")


def centre(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return X less the (weighted) means of its columns, and these means, (d,).

    A constant column becomes 0 exactly: what rounding leaves of it would be taken for a
    feature where nothing is penalised.
    """
    mean = weight @ X / weight.sum()
    varies = X.max(axis=0) > X.min(axis=0)
    return np.where(varies, X - mean, 0.0), mean


def solve_ridge(A: ArrayLike, b: ArrayLike, alpha: float) -> Floats:
    """Return the w that minimises |A w - b|^2 + alpha |w|^2.

    A is (n, d) and b is (n,), or (n, k) for k problems at once; w is (d,) or (d, k).
    The penalty is least squares on d more rows, sqrt(alpha) I w = 0, so A'A is never
    formed. Where alpha is 0, or so small that columns which nearly depend on each other
    still do, the singular values of A are used instead. Those below rounding count as
    0, which gives the shortest w. For alpha > 0 columns may differ in scale: rounding
    is then judged by the columns that a direction consists of. For alpha = 0 it is by
    the largest of all, so a column 1e16 times smaller than another gets w = 0.

    Raises ValueError or TypeError for a bad alpha, for shapes that do not fit, and if
    A, b or w does not fit into float64.
    """
    alpha = check_number("alpha", alpha, low=0)
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    if A.ndim != 2 or A.size == 0 or b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(
            "A must have shape (n, d) with n and d >= 1, and b (n,) or (n, k), got "
            f"{A.shape} and {b.shape}."
        )
    refuse_overflow(A, "the centred X")
    refuse_overflow(b, "the centred y")
    # Heavy rows first: below light ones, their rounding would drown these.
    order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    A, b, w = A[order], b[order], None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if alpha > 0:
            w = _solve_by_qr(A, b, alpha)
        if w is None:
            w = _solve_by_svd(A, b, alpha)
    return refuse_overflow(w, "a coefficient")


def _solve_by_qr(A: Floats, b: Floats, alpha: float) -> Floats | None:
    """Return w, or None where the columns, with the penalty, are nearly dependent.

    Rounding acts on each column by itself, so columns may differ in scale, if each finds
    its largest row on top: columns below the penalty come first, with their rows of it.
    """
    d = A.shape[1]
    penalty = math.sqrt(alpha) * np.eye(d)
    zeros = np.zeros((d, *b.shape[1:]))
    size = np.abs(A).max(axis=0)
    light = size < penalty[0, 0]
    order = np.argsort(np.where(light, -np.inf, -size), kind="stable")
    k = np.count_nonzero(light)
    rows = np.vstack([penalty[:k], A[:, order], penalty[k:]])
    Q, triangle = np.linalg.qr(rows)
    scaled = triangle / np.abs(triangle).max(axis=0)
    if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1e3:
        return None
    w = np.empty_like(zeros)
    targets = np.concatenate([zeros[:k], b, zeros[k:]])
    w[order] = np.linalg.solve(triangle, Q.T @ targets)
    return w


def _solve_by_svd(A: Floats, b: Floats, alpha: float) -> Floats:
    size = np.abs(A).max(axis=0)
    if alpha > 0 and size[size > 0].min(initial=np.inf) < 1e-5 * size.max():
        U, s, Vt = _svd_by_rotations(A)
        kept = s > 0
    else:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        kept = s > np.finfo(float).eps * max(A.shape) * s.max()
    factor = 1 / (s + alpha / s)[kept]
    return Vt[kept].T @ (factor * (U.T @ b)[kept].T).T


def _svd_by_rotations(A: Floats) -> tuple[Floats, Floats, Floats]:
    """Return U, s, V' with U diag(s) V' = A, and s = 0 below rounding.

    Turns pairs of columns until all are orthogonal (one-sided Jacobi). Unlike LAPACK's,
    small values keep their digits beside large ones if only the columns' scales differ
    (Demmel and Veselic, 1992). Each round pairs all columns, as a tournament does.
    """
    d = A.shape[1]
    W, Vt, sizes = A.T.copy(), np.eye(d), _lengths(A.T)  # rows lie closer in memory
    rounding = np.finfo(float).eps * max(A.shape)
    circle, half = np.arange(d + d % 2), (d + 1) // 2  # with a guest, if d is odd
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for _ in range(len(circle) - 1):
            i, j = circle[:half], circle[half:][::-1]
            pairs = np.maximum(i, j) < d
            largest = max(largest, _turn(W, Vt, i[pairs], j[pairs], rounding))
            circle[1:] = np.roll(circle[1:], 1)
        W[_lengths(W) <= rounding * (np.abs(Vt) @ sizes)] = 0.0
        if largest <= rounding:
            break
    s = _lengths(W)
    return (W / np.where(s > 0, s, 1.0)[:, np.newaxis]).T, s, Vt


def _turn(W: Floats, Vt: Floats, i: Any, j: Any, rounding: float) -> float:
    """Make rows i of W orthogonal to rows j in place, and return the largest cosine."""
    left, right = _lengths(W[i])[:, np.newaxis], _lengths(W[j])[:, np.newaxis]
    cosine = ((W[i] / left) * (W[j] / right)).sum(axis=1, keepdims=True)
    cosine = np.nan_to_num(cosine)  # rows of zeros are orthogonal to all
    cotangent = (right / left - left / right) / (2 * cosine)  # of twice the angle
    tangent = np.copysign(1.0, cotangent) / (np.abs(cotangent) + np.hypot(1, cotangent))
    tangent = np.where(np.abs(cosine) > rounding, tangent, 0.0)
    c = 1 / np.hypot(1, tangent)
    for M in (W, Vt):
        M[i], M[j] = c * (M[i] - tangent * M[j]), c * (tangent * M[i] + M[j])
    return float(np.abs(cosine).max())


def _lengths(rows: Floats) -> Floats:
    """Return the lengths of the rows, whose squares may under- or overflow."""
    size = np.abs(rows).max(axis=1)
    unit = np.where(size > 0, size, 1.0)[:, np.newaxis]
    return size * np.linalg.norm(rows / unit, axis=1)


def refuse_overflow(values: ArrayLike, what: str) -> Any:
    """Return ``values``, or raise ValueError unless all of them are finite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} does not fit into float64: express X and y in other units."
        )
    return values
