"""The soft-margin support vector machine, trained in the dual by SMO.

For labels y_i = +-1 the primal problem is

    min over w, b, xi of  |w|^2 / 2 + sum_i C_i xi_i,
    y_i (w'phi(x_i) + b) >= 1 - xi_i,  xi_i >= 0,

and its dual, which holds the features phi only in inner products K_ij,

    min over alpha of  1/2 alpha'Q alpha - sum_i alpha_i,  Q_ij = y_i y_j K_ij,
    y'alpha = 0,  0 <= alpha_i <= C_i.

Sources: Cortes and Vapnik (1995); Chang and Lin (2011) for libsvm, which this agrees
with.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.exceptions import warn_not_converged
from mlbook.kernels.kernel_functions import Gaussian, Kernel, check_kernel
from mlbook.kernels.smo import (
    CACHE_BYTES,
    RowCache,
    Solution,
    box,
    check_box_problem,
    solve,
)
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    check_integer,
    check_number,
    check_sample_weight,
    positive_rows,
)

# pairs of a prediction point and a support vector held in memory at once
PAIRS_IN_MEMORY = 2**21


def default_kernel(X: ArrayLike, weight: ArrayLike | None = None) -> Gaussian:
    """The Gaussian kernel with gamma = 1 / (d Var X), scikit-learn's "scale".

    X is (n, d), and Var X is the variance of all its entries about their one mean. A
    row of ``weight`` k counts as k rows (scikit-learn counts it once). Where all
    entries are equal gamma is 1. Raises ValueError for NaN or infinity, and where the
    variance or gamma leaves the range of float64.
    """
    X = as_matrix(X)
    weight = check_sample_weight(weight, len(X))
    X, weight = positive_rows(weight, X, weight)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        # from one of the entries, so that equal ones have no variance made of rounding
        offset = X - X[0, 0]
        if not offset.any():
            return Gaussian(gamma=1.0)
        mean = np.average(offset, weights=weight, axis=0).mean()
        variance = np.average((offset - mean) ** 2, weights=weight, axis=0).mean()
        gamma = 1.0 / (X.shape[1] * variance)
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(
            f"The variance of X is {variance:g}, which leaves no gamma = 1 / (d Var X):"
            " scale the features."
        )
    return Gaussian(gamma=float(gamma))


def solve_svm(
    kernel: Kernel, X: Floats, y: Floats, upper: Floats, tol: float, max_iter: int,
    cache_bytes: int = CACHE_BYTES,
) -> Solution:
    """Solve the dual for labels y = +-1 and the box 0 <= alpha_i <= upper_i.

    X is (n, d), y and upper are (n,). Half of ``cache_bytes`` is for rows of the Gram
    matrix, half for the solver's curvatures. Raises ValueError as ``smo.solve`` does.
    """
    rows = RowCache(kernel.rows(X), len(X), cache_bytes // 2)
    return solve(rows, kernel.diagonal(X), y, -np.ones(len(X)), upper, tol=tol,
                 max_iter=max_iter, cache_bytes=cache_bytes // 2)


def hinge_objective(
    w: ArrayLike, b: float, X: ArrayLike, y: ArrayLike, C: float
) -> float:
    """|w|^2 / 2 + C sum_i max(0, 1 - y_i (w'x_i + b)), the primal without its slacks.

    For the linear kernel and labels y = +-1: X is (n, d), w is (d,), y is (n,). Raises
    ValueError for other shapes or labels, NaN or infinity, and where the sum overflows.
    """
    X, w, y = as_matrix(X), as_float(w, "w"), as_float(y, "y")
    b, C = check_number("b", b), check_number("C", C, low=0)
    if w.shape != X.shape[1:] or y.shape != X.shape[:1]:
        raise ValueError(
            f"For X of shape {X.shape} w must have shape {X.shape[1:]} and y "
            f"{X.shape[:1]}, got {w.shape} and {y.shape}."
        )
    if not (np.abs(y) == 1).all():
        raise ValueError("y must hold labels +1 and -1.")
    with np.errstate(over="ignore", invalid="ignore"):
        slack = np.maximum(0.0, 1.0 - y * (X @ w + b))
        objective = float(0.5 * w @ w + C * slack.sum())
    if not np.isfinite(objective):
        raise ValueError("The objective overflows on these data: scale the features.")
    return objective


def expansion(kernel: Kernel, X: Floats, vectors: Floats, weights: Floats) -> Floats:
    """sum_i weights_i k(x, vectors_i) for every row x of X, in blocks of rows.

    ``weights`` has shape (n_vectors,) or (n_vectors, r), the result (m,) or (m, r).
    Raises ValueError where the kernel or the sum overflows.
    """
    result = np.zeros((len(X), *weights.shape[1:]))
    if len(vectors) == 0:
        return result
    block = max(1, PAIRS_IN_MEMORY // len(vectors))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(X), block):
            part = slice(start, start + block)
            result[part] = kernel(X[part], vectors) @ weights
    if not np.isfinite(result).all():
        raise ValueError(
            f"The sum of {kernel} over the training samples overflows on these points: "
            "scale the features."
        )
    return result


class SVC(Classifier):
    """Support vector classification, one against one for more than two classes.

    Parameters
    ----------
    C : float > 0
        Cost of a unit of slack; a row's cost is C times its sample weight.
    kernel : Kernel, optional
        By default ``Gaussian`` with gamma = 1 / (d Var X), fixed in fit.
    tol : float > 0
        Largest violation of the optimality conditions, in units of the margin (1).
    max_iter : int
        Most pairs moved in one two-class problem.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray, rows of X with alpha > 0 in some pair
    support_vectors_ : ndarray of shape (n_support, d)
    dual_coef_ : ndarray of shape (n_pairs, n_support)
        alpha_i y_i of each two-class problem, y = +1 for the pair's second class.
    intercept_ : ndarray of shape (n_pairs,)
    dual_objective_ : ndarray of shape (n_pairs,), sum alpha - 1/2 alpha'Q alpha
    n_iter_ : ndarray of shape (n_pairs,)
    kernel_ : Kernel
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Kernel | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SVC:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        Raises ValueError for fewer than two classes, for bad parameters and where the
        kernel or C times a weight leaves the range of float64. Warns with
        ConvergenceWarning where max_iter ends a search or rounding errors exceed tol.
        """
        C = check_number("C", self.C, above=0)
        check_box_problem(self.tol, self.max_iter)
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if len(self.classes_) < 2:
            raise ValueError(
                "SVC needs at least 2 classes, got one class: "
                f"{self.classes_.tolist()[0]!r} (rows of weight 0 do not count)."
            )
        upper = box(C, weight)
        self.kernel_ = (default_kernel(X, weight) if self.kernel is None
                        else check_kernel(self.kernel))
        pairs = list(itertools.combinations(range(len(self.classes_)), 2))
        coefficients = np.zeros((len(pairs), len(X)))
        solutions = []
        for row, (first, second) in zip(coefficients, pairs):
            rows = np.flatnonzero((codes == first) | (codes == second))
            sign = np.where(codes[rows] == second, 1.0, -1.0)
            solution = solve_svm(self.kernel_, X[rows], sign, upper[rows], self.tol,
                                 self.max_iter)
            row[rows] = solution.alpha * sign
            solutions.append(solution)
        self._store(X, coefficients, solutions)
        if sample_weight is not None:  # count the rows of weight 0 as well
            self.support_ = np.flatnonzero(as_float(sample_weight))[self.support_]
        return self

    def _store(self, X: Floats, coefficients: Floats,
               solutions: list[Solution]) -> None:
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.support_vectors_ = X[self.support_].copy()
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([q.intercept for q in solutions])
        self.dual_objective_ = np.array([-q.objective for q in solutions])
        self.n_iter_ = np.array([q.n_iter for q in solutions])
        unsolved = [q for q in solutions if not q.converged]
        if unsolved:
            at_limit = sum(q.n_iter >= self.max_iter for q in unsolved)
            warn_not_converged(
                f"SVC did not reach tol={self.tol:g} in {len(unsolved)} of "
                f"{len(solutions)} problems: {at_limit} ended at max_iter="
                f"{self.max_iter}, {len(unsolved) - at_limit} by rounding errors; the "
                f"largest gap is {max(q.gap for q in unsolved):.2g}. Centre and scale "
                "the features, lower C or raise max_iter."
            )

    def pairwise_decision_function(self, X: ArrayLike) -> Floats:
        """Height w'phi(x) + b of every two-class machine, shape (m, n_pairs).

        Positive speaks for the pair's second class. The pairs are (0, 1), (0, 2), ...
        """
        X = self._check_new_data(X)
        return expansion(self.kernel_, X, self.support_vectors_,
                         self.dual_coef_.T) + self.intercept_

    def decision_function(self, X: ArrayLike) -> Floats:
        """Two classes: w'phi(x) + b, shape (m,), positive for ``classes_[1]``.

        More: shape (m, n_classes), the votes of a class among the pairs plus a share
        below 1/2 that orders equal votes by the sum of the heights, as in scikit-learn.
        """
        values = self.pairwise_decision_function(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return one_vs_one_scores(values, len(self.classes_))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the largest ``decision_function``, shape (m,)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]


def one_vs_one_scores(values: ArrayLike, n_classes: int) -> Floats:
    """Votes of each class, equal votes ordered by confidence; shape (m, n_classes).

    ``values`` has shape (m, n_classes (n_classes - 1) / 2), positive for the pair's
    second class. The confidence, a sum over pairs, is squeezed into (-1/3, 1/3), so
    that it can never outweigh a vote. Raises ValueError for another shape, NaN and
    infinity.
    """
    check_integer("n_classes", n_classes, low=2)
    values = as_float(values, "values")
    pairs = list(itertools.combinations(range(n_classes), 2))
    if values.ndim != 2 or values.shape[1] != len(pairs):
        raise ValueError(
            f"values must have a column for each of the {len(pairs)} pairs of "
            f"{n_classes} classes, got shape {values.shape}."
        )
    values = np.clip(values, -1e300, 1e300)  # sums of a few do not overflow
    votes = np.zeros((len(values), n_classes))
    confidence = np.zeros((len(values), n_classes))
    for column, (first, second) in zip(values.T, pairs, strict=True):
        votes[:, second] += column > 0
        votes[:, first] += column <= 0
        confidence[:, second] += column
        confidence[:, first] -= column
    return votes + confidence / (3 * (np.abs(confidence) + 1))
