"""Ridge regression: least squares with a penalty on the squared coefficients.

Sources: Hoerl and Kennard (1970); Cox and Higham (1998) for the order of the rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.validation import Floats, check_number

LEAST_RATIO = 1e-10  # of a column to the largest, where singular values must be used


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
    0, which gives the shortest w. For alpha = 0 rounding is judged by the largest
    column, and one 1e16 times smaller gets 0.

    Raises ValueError or TypeError for a bad alpha, for shapes that do not fit, if A,
    b or w does not fit into float64, and if columns nearly depend on each other while
    others, for alpha > 0, are more than 1e10 times smaller.
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

    Rounding acts on each column by itself, so columns may differ in scale, if each has
    its largest entry on top: columns below the penalty come first, with their rows of it.
    """
    d = A.shape[1]
    penalty = math.sqrt(alpha) * np.eye(d)
    zeros = np.zeros((d, *b.shape[1:]))
    light = np.abs(A).max(axis=0) < penalty[0, 0]
    order = np.argsort(~light, kind="stable")
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
    if alpha > 0 and size[size > 0].min(initial=np.inf) < LEAST_RATIO * size.max():
        raise ValueError(
            "Columns of X nearly depend on each other, and others are more than 1e10 "
            "times smaller: their coefficients would be lost in rounding. Scale the "
            "features to similar sizes."
        )
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > np.finfo(float).eps * max(A.shape) * s.max()
    factor = 1 / (s + alpha / s)[kept]
    return Vt[kept].T @ (factor * (U.T @ b)[kept].T).T


def refuse_overflow(values: ArrayLike, what: str) -> Any:
    """Return ``values``, or raise ValueError unless all of them are finite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} does not fit into float64: express X and y in other units."
        )
    return values
