"""Kernel ridge regression: least squares on features that are never computed.

The model f(x) = sum_i beta_i k(x_i, x) minimises

    sum_i s_i (y_i - f(x_i))^2 + alpha beta'K beta,

where s are the sample weights and K is the Gram matrix of the training points. For a
positive semi-definite K the minimum is the solution of (K + alpha S^-1) beta = y. Rows
and columns of this matrix are scaled so that its diagonal is 1: its entries then tell
which digits are left, whatever the units, the sizes of the rows and the weights.

Sources: Saunders, Gammerman and Vovk (1998); the leave-one-out formula is that of
Allen (1974) in the dual.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.kernels.kernel_functions import Kernel, check_kernel, gram
from mlbook.kernels.soft_margin_svm import default_kernel, expansion
from mlbook.validation import Floats, check_number


class KernelRidge(Regressor):
    """Least squares with a kernel and a penalty; there is no intercept.

    Where the targets are far from 0, subtract their mean, or add a constant to the
    kernel: ``Gaussian() + 100`` penalises an intercept a hundred times less.

    Parameters
    ----------
    alpha : float >= 0
        Strength of the penalty, in the units of the kernel (those of k(x, x)).
    kernel : Kernel, optional
        By default ``Gaussian`` with gamma = 1 / (d Var X), fixed in fit (a row of
        weight k counts as k rows in the variance). It must be positive semi-definite:
        else the solution of the system need not be a minimum. ``fit`` notices only
        where K + alpha S^-1 is not positive definite.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,), beta, in units of y per unit of the kernel
    X_fit_ : ndarray of shape (n, d), the training rows with a weight above 0
    sample_weight_ : ndarray of shape (n,), their weights
    alpha_ : float, the alpha that was used
    kernel_ : Kernel
    """

    def __init__(self, alpha: float = 1.0, kernel: Kernel | None = None) -> None:
        self.alpha = alpha
        self.kernel = kernel

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> KernelRidge:
        """Fit to X of shape (n, d) and y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where alpha is too small beside the kernel for the system to be solved.
        """
        alpha = check_number("alpha", self.alpha, low=0)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        kernel = (default_kernel(X, weight) if self.kernel is None
                  else check_kernel(self.kernel))
        self.dual_coef_ = solve_kernel_ridge(gram(kernel, X), y, alpha, weight)
        self.kernel_ = kernel
        self.X_fit_ = X.copy()
        self.sample_weight_ = weight.copy()
        self.alpha_ = alpha
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return sum_i beta_i k(x_i, x), of shape (m,), in units of y."""
        X = self._check_new_data(X)
        return expansion(self.kernel_, X, self.X_fit_, self.dual_coef_)

    def loo_residuals(self) -> Floats:
        """Return y_i minus what the model fitted without row i predicts for it.

        One number for each row of ``X_fit_``, that is, without the rows of weight 0. No
        model is fitted again. A row is left out with all its weight; the kernel is the
        fitted one, also where it was chosen from the data.
        """
        self._check_is_fitted()
        K = gram(self.kernel_, self.X_fit_)
        return loo_residuals(K, self.dual_coef_, self.alpha_, self.sample_weight_)

    def leave_one_out_error(self) -> float:
        """Return the (weighted) mean of the squared ``loo_residuals``, in y^2."""
        return float(np.average(self.loo_residuals() ** 2, weights=self.sample_weight_))


def solve_kernel_ridge(
    K: Floats, y: Floats, alpha: float, weight: Floats | None = None
) -> Floats:
    """Return the beta, shape (n,), with (K + alpha S^-1) beta = y.

    K is the Gram matrix, symmetric, of shape (n, n), y is finite, of shape (n,), and S
    holds the weights, (n,), all above 0, 1 by default. Raises ValueError for other
    shapes and weights, where the matrix is not positive definite to working precision,
    and where beta overflows.
    """
    A, _, scale = _scaled_system(K, y, alpha, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        beta = scale * np.linalg.solve(A, scale * y)
    if not np.isfinite(beta).all():
        raise ValueError("beta overflows: scale y, or raise alpha.")
    return beta


def loo_residuals(
    K: Floats, beta: Floats, alpha: float, weight: Floats | None = None
) -> Floats:
    """Return beta_i / [(K + alpha S^-1)^-1]_ii, the leave-one-out residuals, (n,).

    It equals e_i / (1 - h_ii), with the residual e = alpha beta / s and the diagonal of
    the hat matrix, but divides no small number by another. Arguments and errors as in
    ``solve_kernel_ridge``; alpha / s may be as large as 1e300.
    """
    _, L, scale = _scaled_system(K, beta, alpha, weight)
    half = np.linalg.solve(L, np.diag(scale))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        residuals = beta / np.einsum("ij,ij->j", half, half)
    if not np.isfinite(residuals).all():
        raise ValueError(
            "leave-one-out residuals overflow: scale y, lower alpha, or set the "
            "smallest weights to 0."
        )
    return residuals


def _scaled_system(
    K: Floats, column: Floats, alpha: float, weight: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Return A, its Cholesky factor L and the scale, (n,), of K + alpha S^-1.

    A = diag(scale) (K + alpha S^-1) diag(scale) has ones on its diagonal.
    """
    weight = _check_system(K, column, weight)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = 1 / np.sqrt(np.diag(K) + alpha / weight)
        A = K * scale * scale[:, np.newaxis]
    np.fill_diagonal(A, 1)
    try:
        L = np.linalg.cholesky(A)
        # a pivot is what is left of a 1: so small a one keeps only three digits or so
        if (np.diag(L) ** 2 > 1e3 * len(A) * np.finfo(float).eps).all():
            return A, L, scale
    except np.linalg.LinAlgError:
        pass
    equal = np.min(weight) == np.max(weight)
    raise ValueError(
        f"K + alpha {'I' if equal else 'S^-1'} is not positive definite to working "
        f"precision at alpha={alpha:g}: raise alpha, "
        f"{'' if equal else 'lower the largest weights, '}"
        "remove repeated rows, or take a positive semi-definite kernel."
    )


def _check_system(K: Floats, column: Floats, weight: Floats | None) -> Floats:
    """Return the weights, 1 by default, if they and the column fit the matrix."""
    weight = np.ones(len(K)) if weight is None else weight
    if not len(K) == len(column) == len(weight) or np.ndim(column) != 1:
        raise ValueError(
            f"expected {len(K)} numbers for a Gram matrix of shape {np.shape(K)}, got "
            f"shapes {np.shape(column)} and {np.shape(weight)}"
        )
    if not np.min(weight) > 0:
        raise ValueError("weights must be > 0: leave out the rows of weight 0")
    return weight
