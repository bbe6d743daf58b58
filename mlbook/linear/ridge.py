"""Ridge regression: least squares with a penalty on the squared coefficients."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.validation import Floats, check_number


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
        X_mean, y_mean = weight @ X / weight.sum(), weight @ y / weight.sum()
        root = np.sqrt(weight)
        self.coef_ = solve_ridge(
            root[:, np.newaxis] * (X - X_mean), root * (y - y_mean), alpha
        )
        self.intercept_ = float(y_mean - X_mean @ self.coef_)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return b + X w, of shape (m,), in units of y."""
        return self._check_new_data(X) @ self.coef_ + self.intercept_



def solve_ridge(A: Floats, b: Floats, alpha: float) -> Floats:
    """Return the w that minimises |A w - b|^2 + alpha |w|^2.

    A is (n, d) and b is (n,), or (n, k) for k problems at once; w is (d,) or (d, k).
    The penalty is least squares on d more rows, sqrt(alpha) I w = 0. Solved that way
    the condition number of A'A is never squared, and alpha = 0 needs no special case.
    """
    d = A.shape[1]
    rows = np.vstack([A, math.sqrt(alpha) * np.eye(d)])
    targets = np.concatenate([b, np.zeros((d, *b.shape[1:]))])
    return np.linalg.lstsq(rows, targets, rcond=None)[0]
