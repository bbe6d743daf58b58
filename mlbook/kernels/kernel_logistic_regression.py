"""Kernel logistic regression, and Platt's probabilities from a machine's scores.

With targets t_i in {0, 1}, scores f_i = sum_j beta_j k(x_j, x_i) + b and the softplus
log(1 + e^z), kernel logistic regression is

    min over beta, b of  sum_i C_i (softplus(f_i) - t_i f_i) + 1/2 beta'K beta.

At the minimum beta_i = C_i (t_i - p_i), where p_i = 1 / (1 + exp(-f_i)) is the
probability of class 1. So every row has a coefficient, of a size below C_i, and the
coefficients sum to 0. With the linear kernel it is logistic regression with an
intercept that is not penalised.

Platt scaling fits P(class 1 | s) = 1 / (1 + exp(A s + B)) to scores s of any
classifier, on rows that it was not trained on.

Sources: Kimeldorf and Wahba (1971) for the expansion; Zhu and Hastie (2005); Rasmussen
and Williams (2006), section 3.4, for the stable form of Newton's step; Platt (2000) and
Lin, Lin and Weng (2007) for the scaling.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Parameters
from mlbook.exceptions import NotFittedError, warn_not_converged
from mlbook.kernels.kernel_functions import Kernel, check_kernel, gram
from mlbook.kernels.smo import check_box_problem
from mlbook.kernels.soft_margin_svm import default_kernel, expansion
from mlbook.validation import Floats, as_float, check_number, check_sample_weight

SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
# a step is not refused for a rise of this relative size, which rounding can make
ROUNDING = 1e-12
SHORTEST_STEP = 2.0**-40


def sigmoid(z: ArrayLike) -> Floats:
    """1 / (1 + exp(-z)), without overflow for any z."""
    z = np.asarray(z, dtype=float)
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


def log_losses(f: Floats, target: Floats) -> Floats:
    """softplus(f) - target f, for targets in [0, 1], without overflow or cancellation.

    It is -log of the probability of the target: target softplus(-f) +
    (1 - target) softplus(f).
    """
    return target * np.logaddexp(0, -f) + (1 - target) * np.logaddexp(0, f)


def line_search(objective: Callable[[float], float], value: float,
                slope: float) -> tuple[float, float]:
    """Halve a step of 1 until it lowers the objective; return it and the new value.

    ``objective(step)`` is the value after a step, ``value`` the one at 0 and ``slope``
    (negative) the derivative there.
    """
    step = 1.0
    while True:
        new = objective(step)
        allowed = SUFFICIENT_DECREASE * step * slope + ROUNDING * abs(value)
        if new <= value + allowed or step < SHORTEST_STEP:
            return step, new
        step /= 2


def klr_objective(K: Floats, beta: Floats, b: float, target: Floats,
                  cost: Floats) -> float:
    """sum_i cost_i (softplus(f_i) - target_i f_i) + 1/2 beta'K beta."""
    K_beta = K @ beta
    return float(cost @ log_losses(K_beta + b, target) + 0.5 * beta @ K_beta)


def klr_gradient(K: Floats, beta: Floats, b: float, target: Floats,
                 cost: Floats) -> tuple[Floats, float]:
    """Gradient of the objective in beta, shape (n,), and its derivative in b."""
    pull = cost * (target - sigmoid(K @ beta + b))
    return K @ (beta - pull), -float(pull.sum())


def newton_point(K: Floats, f: Floats, target: Floats,
                 cost: Floats) -> tuple[Floats, float]:
    """Minimise the objective with the loss replaced by its parabolas at the scores f.

    With S = diag(cost p (1 - p)) the minimum solves, for beta and b,

        beta + S (K beta + b 1) = S f + cost (target - p),   sum beta = 0.

    Only I + S^(1/2) K S^(1/2) is factorised, whose eigenvalues are at least 1: neither
    a singular K nor an S that vanishes does any harm.

    Raises ValueError if K is not positive semi-definite.
    """
    p = sigmoid(f)
    curvature = cost * p * sigmoid(-f)  # 1 - p would round to 0 too early
    root = np.sqrt(curvature)
    B = np.eye(len(f)) + root[:, None] * K * root
    right = np.column_stack([curvature * f + cost * (target - p), curvature])
    try:
        L = np.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        raise ValueError("the kernel is not positive semi-definite on these points: "
                         "the objective has no minimum.") from None
    inner = np.linalg.solve(L.T, np.linalg.solve(L, root[:, None] * (K @ right)))
    # (I + SK)^-1 right, by Woodbury's identity
    from_scores, from_ones = (right - root[:, None] * inner).T
    b = float(from_scores.sum() / from_ones.sum())
    return from_scores - b * from_ones, b


class KernelLogisticRegression(Classifier):
    """Logistic regression with a kernel, for two classes, by Newton's method.

    Parameters
    ----------
    C : float > 0
        Weight of the loss against 1/2 beta'K beta; a row's is C times its sample
        weight. As in scikit-learn's LogisticRegression.
    kernel : Kernel, optional
        By default ``Gaussian`` with gamma = 1 / (d Var X), fixed in fit (a row of
        weight k counts as k rows in the variance).
    tol : float > 0
        Largest |beta_i / C_i - (t_i - p_i)| at the end, in units of probability.
    max_iter : int
        Most steps of Newton's method.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    X_fit_ : ndarray of shape (n, d), the training rows of weight > 0
    dual_coef_ : ndarray of shape (n,), beta
    intercept_ : float
    objective_ : float, the minimum that was found
    n_iter_ : int
    kernel_ : Kernel
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Kernel | None = None,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> KernelLogisticRegression:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        Raises ValueError unless there are two classes, and for bad parameters; warns
        with ConvergenceWarning where max_iter ends the search. Needs memory for a few
        matrices of shape (n, n).
        """
        check_number("C", self.C, above=0)
        check_box_problem(self.tol, self.max_iter)
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: expected 2 classes, got "
                f"{len(self.classes_)} class(es)."
            )
        self.kernel_ = (default_kernel(X, weight) if self.kernel is None
                        else check_kernel(self.kernel))
        self.X_fit_ = X.copy()
        self._minimise(gram(self.kernel_, X), codes.astype(float), self.C * weight)
        return self

    def _minimise(self, K: Floats, target: Floats, cost: Floats) -> None:
        beta, b = np.zeros(len(K)), 0.0
        objective = klr_objective(K, beta, b, target, cost)
        for self.n_iter_ in range(self.max_iter + 1):
            f = K @ beta + b
            violation = np.abs(beta / cost - (target - sigmoid(f))).max()
            if violation <= self.tol or self.n_iter_ == self.max_iter:
                break
            to_beta, to_b = newton_point(K, f, target, cost)
            way, way_b = to_beta - beta, to_b - b
            slope_beta, slope_b = klr_gradient(K, beta, b, target, cost)
            slope = slope_beta @ way + slope_b * way_b
            step, objective = line_search(
                lambda step: klr_objective(K, beta + step * way, b + step * way_b,
                                           target, cost), objective, slope)
            beta, b = beta + step * way, b + step * way_b
        self.dual_coef_, self.intercept_, self.objective_ = beta, float(b), objective
        if violation > self.tol:
            warn_not_converged(
                f"KernelLogisticRegression stopped at max_iter={self.max_iter} with "
                f"beta / C off by {violation:.2g} > tol={self.tol:g}: lower C, scale "
                "the features, or raise max_iter or tol."
            )

    def decision_function(self, X: ArrayLike) -> Floats:
        """The log-odds of ``classes_[1]``, shape (m,)."""
        X = self._check_new_data(X)
        return expansion(self.kernel_, X, self.X_fit_, self.dual_coef_) \
            + self.intercept_

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the two classes, shape (m, 2)."""
        f = self.decision_function(X)
        return np.column_stack([sigmoid(-f), sigmoid(f)])

    def predict(self, X: ArrayLike) -> NDArray:
        """The more probable class, shape (m,)."""
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(np.intp)]


def platt_targets(positive: NDArray[np.bool_], weight: Floats) -> Floats:
    """(N+ + 1) / (N+ + 2) for positive rows and 1 / (N- + 2) for the others.

    N+ and N- are the sums of the weights (n,) of the two kinds of rows.
    """
    n_plus, n_minus = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def platt_objective(A: float, B: float, score: Floats, target: Floats,
                    weight: Floats) -> float:
    """sum_i weight_i (softplus(z_i) - (1 - target_i) z_i), z_i = A score_i + B."""
    return float(weight @ log_losses(A * score + B, 1 - target))


class PlattScaling(Parameters):
    """P(y = 1 | s) = 1 / (1 + exp(A s + B)) for scores s, with smoothed targets.

    Parameters
    ----------
    tol : float > 0
        Largest mean gradient in A and B at the end, for scores of unit variance.
    max_iter : int
        Most steps of Newton's method.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    A_, B_ : float
        A is negative where larger scores speak for ``classes_[1]``.
    n_iter_ : int
    """

    def __init__(self, tol: float = 1e-10, max_iter: int = 100) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PlattScaling:
        """Fit to scores of shape (n,) and labels y of shape (n,); return self.

        The scores should come from rows that the scorer was not trained on. Where they
        are all equal A is 0. Raises ValueError for scores that are not a 1-D array of
        finite numbers, another number of labels, or other than two classes.
        """
        check_box_problem(self.tol, self.max_iter)
        score, y = _check_scores(scores), np.asarray(y)
        if y.shape != score.shape:
            raise ValueError(f"y must have the shape of the scores, {score.shape}, got "
                             f"{y.shape}.")
        weight = check_sample_weight(sample_weight, len(score))
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"expected labels of 2 classes, got {len(self.classes_)}.")
        target = platt_targets(codes == 1, weight)
        # in units in which A and B are of order 1, and their Hessian is well scaled
        centre = np.average(score, weights=weight)
        spread = 1.0
        if np.ptp(score) > 0:
            spread = math.sqrt(np.average((score - centre) ** 2, weights=weight))
        A, B = self._minimise((score - centre) / spread, target, weight)
        self.A_, self.B_ = A / spread, B - A * centre / spread
        return self

    def _minimise(self, z: Floats, target: Floats, weight: Floats) -> Floats:
        design = np.column_stack([z, np.ones(len(z))])
        # the best constant: what scores that say nothing would lead to
        rate = np.average(target, weights=weight)
        point = np.array([0.0, math.log((1 - rate) / rate)])
        value = platt_objective(*point, z, target, weight)
        for self.n_iter_ in range(self.max_iter + 1):
            p = sigmoid(-design @ point)
            gradient = design.T @ (weight * (target - p))
            size = np.abs(gradient).max() / weight.sum()
            if size <= self.tol or self.n_iter_ == self.max_iter:
                break
            hessian = design.T @ (design * (weight * p * (1 - p))[:, None])
            # the shortest solution, so that A stays 0 where all scores are equal
            way = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
            step, value = line_search(
                lambda step: platt_objective(*(point + step * way), z, target, weight),
                value, gradient @ way)
            point = point + step * way
        if size > self.tol:
            warn_not_converged(f"PlattScaling stopped at max_iter={self.max_iter} with "
                               f"a mean gradient of {size:.2g} > tol={self.tol:g}.")
        return point

    def predict_proba(self, scores: ArrayLike) -> Floats:
        """Probabilities of the two classes, shape (m, 2), for scores of shape (m,)."""
        if not hasattr(self, "A_"):
            raise NotFittedError("This PlattScaling is not fitted yet: call 'fit'.")
        z = self.A_ * _check_scores(scores) + self.B_
        return np.column_stack([sigmoid(z), sigmoid(-z)])


def _check_scores(scores: ArrayLike) -> Floats:
    scores = as_float(scores, "scores")
    if scores.ndim != 1 or len(scores) == 0:
        raise ValueError("scores must be a 1-D array with at least one value, got "
                         f"shape {scores.shape}.")
    return scores
