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
from mlbook.kernels.smo import CACHE_BYTES, RowCache, Solution, check_box_problem, solve
from mlbook.validation import Floats, check_number

# pairs of a prediction point and a support vector held in memory at once
PAIRS_IN_MEMORY = 2**21


def default_kernel(X: Floats, weight: Floats | None = None) -> Gaussian:
    """The Gaussian kernel with gamma = 1 / (d Var X), scikit-learn's "scale".

    A row of ``weight`` k counts as k rows (scikit-learn counts it once).
    """
    mean = np.average(X, weights=weight, axis=0).mean()
    variance = np.average((X - mean) ** 2, weights=weight, axis=0).mean()
    return Gaussian(gamma=1.0 / (X.shape[1] * variance) if variance > 0 else 1.0)


def solve_svm(
    kernel: Kernel, X: Floats, y: Floats, upper: Floats, tol: float, max_iter: int,
    cache_bytes: int = CACHE_BYTES,
) -> Solution:
    """Solve the dual for labels y = +-1 and the box 0 <= alpha_i <= upper_i."""
    rows = RowCache(kernel.rows(X), len(X), cache_bytes)
    return solve(rows, kernel.diagonal(X), y, -np.ones(len(X)), upper, tol=tol,
                 max_iter=max_iter)


def hinge_objective(w: Floats, b: float, X: Floats, y: Floats, C: float) -> float:
    """|w|^2 / 2 + C sum_i max(0, 1 - y_i (w'x_i + b)), the primal without its slacks.

    For labels y = +-1 and the linear kernel; X is (n, d), w is (d,).
    """
    slack = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return float(0.5 * w @ w + C * slack.sum())


def expansion(kernel: Kernel, X: Floats, vectors: Floats, weights: Floats) -> Floats:
    """sum_i weights_i k(x, vectors_i) for every row x of X, in blocks of rows.

    ``weights`` has shape (n_vectors,) or (n_vectors, r).
    """
    result = np.zeros((len(X), *weights.shape[1:]))
    if len(vectors) == 0:
        return result
    block = max(1, PAIRS_IN_MEMORY // len(vectors))
    for start in range(0, len(X), block):
        part = slice(start, start + block)
        result[part] = kernel(X[part], vectors) @ weights
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
    classes_ : ndarray of shape (K,)
    support_ : ndarray, rows of the training data with alpha > 0 in some pair
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

        Raises ValueError for fewer than two classes and for bad parameters; warns with
        ConvergenceWarning where max_iter ends a search.
        """
        check_number("C", self.C, above=0)
        check_box_problem(self.tol, self.max_iter)
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if len(self.classes_) < 2:
            raise ValueError(
                f"SVC needs at least 2 classes, got one class: {self.classes_[0]!r}."
            )
        self.kernel_ = (default_kernel(X, weight) if self.kernel is None
                        else check_kernel(self.kernel))
        pairs = list(itertools.combinations(range(len(self.classes_)), 2))
        coefficients = np.zeros((len(pairs), len(X)))
        solutions = []
        for row, (first, second) in zip(coefficients, pairs):
            rows = np.flatnonzero((codes == first) | (codes == second))
            sign = np.where(codes[rows] == second, 1.0, -1.0)
            solution = solve_svm(self.kernel_, X[rows], sign, self.C * weight[rows],
                                 self.tol, self.max_iter)
            row[rows] = solution.alpha * sign
            solutions.append(solution)
        self._store(X, coefficients, solutions)
        return self

    def _store(self, X: Floats, coefficients: Floats,
               solutions: list[Solution]) -> None:
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.support_vectors_ = X[self.support_].copy()
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([q.intercept for q in solutions])
        self.dual_objective_ = np.array([-q.objective for q in solutions])
        self.n_iter_ = np.array([q.n_iter for q in solutions])
        open_ = [q.gap for q in solutions if not q.converged]
        if open_:
            warn_not_converged(
                f"SVC stopped at max_iter={self.max_iter} in {len(open_)} of "
                f"{len(solutions)} problems, with a gap of {max(open_):.2g} > tol="
                f"{self.tol:g}: scale the features, lower C or raise max_iter."
            )

    def pairwise_decision_function(self, X: ArrayLike) -> Floats:
        """Value of every two-class machine, shape (m, n_pairs).

        Positive speaks for the pair's second class. The pairs are (0, 1), (0, 2), ...
        """
        X = self._check_new_data(X)
        return expansion(self.kernel_, X, self.support_vectors_,
                         self.dual_coef_.T) + self.intercept_

    def decision_function(self, X: ArrayLike) -> Floats:
        """Two classes: w'phi(x) + b, shape (m,), positive for ``classes_[1]``.

        More: shape (m, K), the votes of a class among the pairs plus a share below 1/2
        that orders equal votes by the sum of the values, as in scikit-learn.
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


def one_vs_one_scores(values: Floats, n_classes: int) -> Floats:
    """Votes of each class, equal votes ordered by confidence; shape (m, n_classes).

    ``values`` has shape (m, n_classes (n_classes - 1) / 2), positive for the pair's
    second class. The confidence, a sum over pairs, is squeezed into (-1/3, 1/3), so
    that it can never outweigh a vote.
    """
    votes = np.zeros((len(values), n_classes))
    confidence = np.zeros((len(values), n_classes))
    pairs = itertools.combinations(range(n_classes), 2)
    for column, (first, second) in zip(values.T, pairs):
        votes[:, second] += column > 0
        votes[:, first] += column <= 0
        confidence[:, second] += column
        confidence[:, first] -= column
    return votes + confidence / (3 * (np.abs(confidence) + 1))
