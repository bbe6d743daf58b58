"""Support vector regression: a tube of half width epsilon, trained in the dual by SMO.

The primal problem lets errors up to epsilon pass and charges C for each unit beyond:

    min over w, b of  |w|^2 / 2 + sum_i C_i max(0, |y_i - w'phi(x_i) - b| - epsilon).

Its dual has two variables for each row, one for the upper edge of the tube and one for
the lower, 2n in all. Stacked as a = (a_upper, a_lower) it is the solver's own form,

    min over a of  1/2 a'Qa + p'a,  s'a = 0,  0 <= a <= (C, C),
    s = (+1, -1),  p = (epsilon - y, epsilon + y),  Q_ij = s_i s_j K_ij,

where K holds the Gram matrix four times; so Q has it in the blocks on the diagonal and
minus it in the other two. The solver is given the rows of K and puts on the signs. The
model is f(x) = sum_i beta_i k(x_i, x) + b with beta = a_upper - a_lower.

Sources: Drucker et al. (1997); Smola and Schoelkopf (2004); Chang and Lin (2011) for
libsvm, which this agrees with.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.exceptions import warn_not_converged
from mlbook.kernels.kernel_functions import Kernel, check_kernel
from mlbook.kernels.smo import RowCache, Solution, box, check_box_problem, solve
from mlbook.kernels.soft_margin_svm import default_kernel, expansion
from mlbook.validation import Floats, as_float, check_number


def tube_loss(residual: ArrayLike, epsilon: float) -> Floats:
    """max(0, |residual| - epsilon) of Drucker et al. (1997), in units of the residual.

    Entry by entry, in the shape of ``residual``. Raises ValueError or TypeError unless
    epsilon is a number >= 0 and the residuals are finite numbers.
    """
    epsilon = check_number("epsilon", epsilon, low=0)
    return np.maximum(np.abs(as_float(residual, "residual")) - epsilon, 0.0)


def signs_and_linear_term(y: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """Return s and p of the dual in the solver's form, both of shape (2n,)."""
    signs = np.repeat([1.0, -1.0], len(y))
    return signs, np.concatenate([epsilon - y, epsilon + y])


def twice(row: Callable[[int], Floats], n: int) -> Callable[[int], Floats]:
    """Rows of the (2n, 2n) matrix whose four blocks are the one of ``row``, (n, n).

    The solver multiplies entry (i, j) by s_i s_j.
    """
    return lambda i: np.tile(row(i % n), 2)


def solve_tube(
    kernel: Kernel, X: Floats, y: Floats, epsilon: float, upper: Floats, tol: float,
    max_iter: int,
) -> Solution:
    """Solve the dual for targets y (n,) and the boxes 0 <= a <= upper, upper (n,).

    X is (n, d), tol in units of y. Raises ValueError as ``smo.solve`` does.
    """
    rows = twice(RowCache(kernel.rows(X), len(X)), len(X))
    signs, p = signs_and_linear_term(y, epsilon)
    return solve(rows, np.tile(kernel.diagonal(X), 2), signs, p, np.tile(upper, 2),
                 tol=tol, max_iter=max_iter)


class SVR(Regressor):
    """Support vector regression.

    Parameters
    ----------
    C : float > 0
        Cost of a unit of error beyond the tube; a row's is C times its sample weight.
    epsilon : float >= 0
        Half width of the tube, in units of y.
    kernel : Kernel, optional
        By default ``Gaussian`` with gamma = 1 / (d Var X), fixed in fit (a row of
        weight k counts as k rows in the variance). With one that is not positive
        semi-definite, ``Sigmoid`` for instance, the fit need not be a minimum.
    tol : float > 0
        Largest violation of the optimality conditions, in units of y.
    max_iter : int
        Most pairs of variables moved.

    Attributes
    ----------
    support_ : ndarray, rows of the training data with beta != 0
        Counted as they were passed, those of weight 0 included.
    support_vectors_ : ndarray of shape (n_support, d)
    dual_coef_ : ndarray of shape (n_support,), their beta
    intercept_ : float, in units of y. Where every row lies inside the tube, or no
        support vector is free, an interval is optimal; this is its middle.
    dual_objective_ : float, y'beta - epsilon sum |beta| - 1/2 beta'K beta
    n_iter_ : int
    kernel_ : Kernel
    """

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Kernel | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SVR:
        """Fit to X of shape (n, d) and targets y of shape (n,); return self.

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where the targets, the kernel or C times a weight leave the range of float64.
        Warns with ConvergenceWarning where max_iter ends the search or rounding errors
        exceed tol.
        """
        C = check_number("C", self.C, above=0)
        epsilon = check_number("epsilon", self.epsilon, low=0)
        check_box_problem(self.tol, self.max_iter)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if math.isinf(float(np.abs(y).max()) + epsilon):
            raise ValueError("y and epsilon are too large together for float64: scale "
                             "the targets.")
        upper = box(C, weight)
        self.kernel_ = (default_kernel(X, weight) if self.kernel is None
                        else check_kernel(self.kernel))
        solution = solve_tube(self.kernel_, X, y, epsilon, upper, self.tol,
                              self.max_iter)
        above, below = solution.alpha.reshape(2, -1)
        beta = above - below
        support = np.flatnonzero(beta)
        self.support_ = support if sample_weight is None else (
            np.flatnonzero(as_float(sample_weight))[support])
        self.support_vectors_ = X[support].copy()
        self.dual_coef_ = beta[support]
        self.intercept_ = solution.intercept
        self.dual_objective_ = 0.0 - solution.objective  # 0 rather than -0
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warn_not_converged(self._complaint(solution))
        return self

    def _complaint(self, solution: Solution) -> str:
        if solution.n_iter >= self.max_iter:
            return (f"SVR stopped at max_iter={self.max_iter}, where the optimality "
                    f"conditions are violated by {solution.gap:.2g} (tol={self.tol:g})"
                    ": scale the features, lower C or raise max_iter.")
        return (f"SVR cannot reach tol={self.tol:g}, as rounding errors are larger: "
                "scale the features and the targets, lower C or raise tol.")

    def predict(self, X: ArrayLike) -> Floats:
        """Return sum_i beta_i k(x_i, x) + b, of shape (m,), in units of y."""
        X = self._check_new_data(X)
        return expansion(self.kernel_, X, self.support_vectors_,
                         self.dual_coef_) + self.intercept_
