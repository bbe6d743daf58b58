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
from mlbook.kernels.kernel_functions import (
    Kernel, check_kernel, gram, is_positive_semidefinite)
from mlbook.kernels.soft_margin_svm import default_kernel, expansion
from mlbook.validation import (
    Floats, as_float, as_vector, check_integer, check_labels, check_number,
    check_sample_weight, positive_rows)

SUFFICIENT_DECREASE = 1e-4  # of what the slope promises (Armijo)
# a step is not refused for a rise of this relative size, which rounding can make
ROUNDING = 1e-12
SHORTEST_STEP = 2.0**-40
CENTRING = 32  # roundings of the largest entry that centring may add up (10 were seen)
LONGEST = 10.0  # change by one step of Platt scaling, in shares of the log-odds
CERTAIN = 1e-2  # what rounding of the kernel may do to a score, in log-odds


def sigmoid(z: ArrayLike) -> Floats:
    """1 / (1 + exp(-z)), without overflow for any z."""
    z = np.asarray(z, dtype=float)
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


def log_losses(f: Floats, target: Floats) -> Floats:
    """softplus(f) - target f, for targets in [0, 1], without overflow or cancellation.

    It is -log of the probability of the target: target softplus(-f) +
    (1 - target) softplus(f). The scores f must be finite.
    """
    return target * np.logaddexp(0, -f) + (1 - target) * np.logaddexp(0, f)


def misses(f: Floats, target: Floats) -> Floats:
    """target - sigmoid(f), for targets in [0, 1], to full relative accuracy.

    As written the difference would lose its digits where the probability comes near
    its target, which it does for every sample when C is large.
    """
    return target * sigmoid(-f) - (1 - target) * sigmoid(f)


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
    pull = cost * misses(K @ beta + b, target)
    return K @ (beta - pull), -float(pull.sum())


def newton_point(K: Floats, f: Floats, target: Floats,
                 cost: Floats) -> tuple[Floats, float]:
    """Minimise the objective with the loss replaced by its parabolas at the scores f.

    With S = diag(cost p (1 - p)) the minimum solves, for beta and b,

        beta + S (K beta + b 1 - f) = cost (target - p),   sum beta = 0.

    Only M = I + S^(1/2) K S^(1/2) is solved with, whose eigenvalues are at least 1 if K
    is positive semi-definite: neither a singular K nor single entries of S that vanish
    do any harm.

    Raises ValueError if all of S vanishes, which leaves b open; if M is not positive
    definite, because K is not positive semi-definite or so large that its rounding
    outweighs the unit matrix.
    """
    curvature = cost * sigmoid(f) * sigmoid(-f)
    if not curvature.any():
        raise ValueError("every probability has rounded to 0 or 1 and the loss has "
                         "no curvature left: lower C or scale the features.")
    root = np.sqrt(curvature)
    M = np.eye(len(f)) + root[:, None] * K * root
    right = np.column_stack([curvature * f + cost * misses(f, target), curvature])
    try:
        np.linalg.cholesky(M)  # only to see that it can be done
    except np.linalg.LinAlgError:
        raise ValueError(
            "Newton's equations are not positive definite. If K is positive semi-"
            "definite, rounding has outweighed the unit matrix in them: centre "
            "or scale the features, or lower C.") from None
    inner = np.linalg.solve(M, root[:, None] * (K @ right))
    # (I + SK)^-1 right, by Woodbury's identity
    from_scores, from_ones = (right - root[:, None] * inner).T
    b = float(from_scores.sum() / from_ones.sum())
    return from_scores - b * from_ones, b


def centred(K: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """K seen from the mean of the features, and each sample's product with that mean.

    With weights w in proportion to the costs and r = K w, entry (i, j) of the first
    is K_ij - r_i - r_j + w'r. For coefficients that sum to 0, K beta is the centred
    matrix times beta plus (r'beta) 1: only the intercept changes. A large constant in
    the kernel, such as far-off features make, is gone.
    """
    w = cost / cost.sum()
    r = K @ w
    return K - r[:, None] - r + w @ r, r


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
    tol : float between 0 and 1
        Largest |beta_i - C_i (t_i - p_i)| at the end, as a share of the largest
        |beta_i| or |C_i (t_i - p_i)|.
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

        Raises ValueError unless there are two classes, for bad parameters, for a
        kernel that is not positive semi-definite on X or whose values underflow, and
        where numbers leave the range of float64. Warns with ConvergenceWarning where
        max_iter ends the search, and where the kernel's values are so large that their
        rounding moves the scores. Needs memory for a few matrices of shape (n, n).
        """
        C = check_number("C", self.C, above=0)
        _check_search(self.tol, self.max_iter)
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: expected 2 classes, got "
                f"{len(self.classes_)} class(es)."
            )
        self.kernel_ = (default_kernel(X, weight) if self.kernel is None
                        else check_kernel(self.kernel))
        self.X_fit_ = X.copy()
        with np.errstate(over="ignore"):
            cost = C * weight
            in_range = np.isfinite(cost.sum()) and cost.all()
        if not in_range:
            raise ValueError("C times the sample weights must be > 0 with a finite "
                             f"sum, got {cost.min():g} to {cost.max():g}.")
        K = gram(self.kernel_, X)
        K_centred, r = centred(K, cost)
        self._check_definite(K, K_centred)
        self._minimise(K_centred, codes.astype(float), cost)
        self.intercept_ -= float(r @ self.dual_coef_)
        self._check_rounding(np.abs(K).max())
        return self

    def _check_definite(self, K: Floats, K_centred: Floats) -> None:
        """Refuse a K with a negative eigenvalue, also one beside a large constant.

        The test of K allows for rounding in proportion to its largest eigenvalue, and
        if that is a constant in the kernel, a negative one is small beside it. From
        the centred matrix the constant is gone, up to the rounding of K.
        """
        largest = np.abs(K).max()
        if is_positive_semidefinite(K) and _is_definite_up_to(
                CENTRING * np.finfo(float).eps * len(K) * largest, K_centred):
            return
        if largest < np.finfo(float).tiny:
            raise ValueError(f"the values of {self.kernel_}, up to {largest:.1e}, "
                             "underflow on these points: scale the features.")
        raise ValueError(f"{self.kernel_} is not positive semi-definite on these "
                         "points: the objective has no minimum.")

    def _minimise(self, K: Floats, target: Floats, cost: Floats) -> None:
        beta, b = np.zeros(len(K)), 0.0
        objective = klr_objective(K, beta, b, target, cost)
        for n_iter in range(self.max_iter + 1):
            f = K @ beta + b
            pull = cost * misses(f, target)
            size = max(np.abs(beta).max(), np.abs(pull).max())
            violation = np.abs(beta - pull).max()
            if violation <= self.tol * size or n_iter == self.max_iter:
                break
            with np.errstate(over="ignore", invalid="ignore"):
                to_beta, to_b = newton_point(K, f, target, cost)
            if not np.isfinite([*to_beta, to_b]).all():
                raise ValueError("the coefficients leave the range of float64: lower C "
                                 "or scale the features.")
            way, way_b = to_beta - beta, to_b - b
            slope_beta, slope_b = klr_gradient(K, beta, b, target, cost)
            step, objective = line_search(
                lambda s: klr_objective(K, beta + s * way, b + s * way_b, target, cost),
                objective, slope_beta @ way + slope_b * way_b)
            beta, b = beta + step * way, b + step * way_b
        self.dual_coef_, self.intercept_ = beta, float(b)
        self.objective_, self.n_iter_ = objective, n_iter
        if violation > self.tol * size:
            warn_not_converged(
                f"KernelLogisticRegression stopped at max_iter={self.max_iter} with "
                f"beta off by {violation / size:.2g} of its size > tol={self.tol:g}: "
                "lower C, scale the features, or raise max_iter or tol.")

    def _check_rounding(self, largest: float) -> None:
        """Warn where the rounding of K, of max |K| ``largest``, shows in the scores."""
        doubt = np.finfo(float).eps * largest * np.abs(self.dual_coef_).sum()
        if not doubt <= CERTAIN:
            warn_not_converged(
                f"rounding of the kernel, whose values reach {largest:.1e}, can move "
                f"scores by {doubt:.1g}: centre or scale the features, or lower C.")

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
    positive, weight = np.asarray(positive, dtype=bool), np.asarray(weight)
    n_plus, n_minus = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def platt_objective(A: float, B: float, score: Floats, target: Floats,
                    weight: Floats) -> float:
    """sum_i weight_i (softplus(z_i) - (1 - target_i) z_i), z_i = A score_i + B."""
    # the loss of -z, as 1 - target would cut digits of small targets
    return float(weight @ log_losses(-(A * score + B), target))


def platt_gradient(A: float, B: float, score: Floats, target: Floats,
                   weight: Floats) -> Floats:
    """Derivatives of the objective in A and B, shape (2,): sums of weight (t - p)."""
    pull = weight * misses(-(A * score + B), target)
    return np.array([score @ pull, pull.sum()])


def platt_step(A: float, B: float, score: Floats, target: Floats,
               weight: Floats) -> tuple[Floats, float]:
    """Newton's step in A and B, shape (2,), and the objective's slope along it.

    With the scores taken from their mean, each counted with its curvature
    weight p (1 - p), the Hessian is diagonal, and weights of very different size do no
    harm. What has no curvature left is not changed.
    """
    f = A * score + B
    curvature = weight * sigmoid(f) * sigmoid(-f)
    if not curvature.any():
        return np.zeros(2), 0.0
    share = curvature / curvature.max()  # or products with small ones vanish
    mean = share @ score / share.sum()
    from_mean = score - mean
    hessian = curvature.max() * np.array([share @ from_mean**2, share.sum()])
    gradient = platt_gradient(A, B + A * mean, from_mean, target, weight)
    way = -np.divide(gradient, hessian, out=np.zeros(2), where=hessian > 0)
    return np.array([way[0], way[1] - mean * way[0]]), float(gradient @ way)


def _platt_change(point: Floats, way: Floats, score: Floats) -> float:
    """Largest change of a row's log-odds, as a share of itself or of 1 if larger."""
    f, change = (A * score + B for A, B in (point, way))
    return float((np.abs(change) / np.maximum(1.0, np.abs(f))).max())


def _platt_length(point: Floats, way: Floats, slope: float, score: Floats,
                  target: Floats, weight: Floats) -> float:
    """How much of the step ``way`` in A and B to take."""
    # where hardly any curvature is left Newton's step can be of any length
    longest = 1.0 / max(1.0, _platt_change(point, way, score) / LONGEST)
    way = longest * way
    length, _ = line_search(
        lambda length: platt_objective(*(point + length * way), score, target, weight),
        platt_objective(*point, score, target, weight), longest * slope)
    return length * longest


class PlattScaling(Parameters):
    """P(y = 1 | s) = 1 / (1 + exp(A s + B)) for scores s, with smoothed targets.

    Parameters
    ----------
    tol : float between 0 and 1
        Largest change in A s_i + B that Newton's next step would make at the end, as a
        share of |A s_i + B| or of 1 if that is larger.
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
        are all equal A is 0. A class of weight N+ has a target of 1 - 1/(N+ + 2), which
        loses digits if N+ is large: 1/(N+ + 2) has 4 left at 1e12 and none at 1e16.
        Raises ValueError for scores that are not a 1-D array of finite numbers, another
        number of labels, other than two classes, weights whose sum overflows or of
        which one vanishes beside the largest, and where A or B overflows. Warns with
        ConvergenceWarning where max_iter ends the search. A fit that raises keeps the
        old model.
        """
        _check_search(self.tol, self.max_iter)
        score = _check_scores(scores)
        if y is None:
            raise ValueError("PlattScaling requires y to be passed, but the target y "
                             "is None.")
        y = check_labels(as_vector(y))
        if y.shape != score.shape:
            raise ValueError(f"y must have the shape of the scores, {score.shape}, got "
                             f"{y.shape}.")
        weight = check_sample_weight(sample_weight, len(score))
        score, y, weight = positive_rows(weight, score, y, weight)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) != 2:
            raise ValueError(f"expected labels of 2 classes, got {len(classes)}.")
        with np.errstate(over="ignore"):
            if not np.isfinite(weight.sum()):
                raise ValueError("the sum of sample_weight overflows: divide it.")
        share = weight / weight.max()
        if not share.all():
            raise ValueError(f"sample_weight from {weight.min():.1e} to "
                             f"{weight.max():.1e} leaves the range of float64: raise "
                             "the small ones or set them to 0.")
        target = platt_targets(codes == 1, weight)
        A, B, n_iter = self._fit_in_units(score, target, share)
        if not np.isfinite([A, B]).all():
            raise ValueError(f"A = {A:g} and B = {B:g} leave the range of float64: "
                             "scale the scores.")
        self.A_, self.B_, self.n_iter_, self.classes_ = A, B, n_iter, classes
        return self

    def _fit_in_units(self, score: Floats, target: Floats,
                      weight: Floats) -> tuple[float, float, int]:
        """A and B, from scores that are taken from their mean and at most about 1."""
        unit = np.abs(score).max() or 1.0  # or the squares overflow or vanish
        score = score / unit  # equal ones are now all 1, -1 or 0, and so is their mean
        centre = np.average(score, weights=weight)
        A, B, n_iter = self._minimise(score - centre, target, weight)
        with np.errstate(over="ignore"):
            return float(A / unit), float(B - A * centre), n_iter

    def _minimise(self, z: Floats, target: Floats,
                  weight: Floats) -> tuple[float, float, int]:
        # the best constant: what scores that say nothing would lead to
        start = math.log((weight @ (1 - target)) / (weight @ target))
        point = np.array([0.0, start])
        for n_iter in range(self.max_iter + 1):
            way, slope = platt_step(*point, z, target, weight)
            size = _platt_change(point, way, z)
            if size <= self.tol or n_iter == self.max_iter:
                break
            point = point + way * _platt_length(point, way, slope, z, target, weight)
        if size > self.tol:
            warn_not_converged(
                f"PlattScaling stopped at max_iter={self.max_iter} with a next step of "
                f"{size:.2g} > tol={self.tol:g} in A s + B: raise max_iter or tol.")
        return float(point[0]), float(point[1]), n_iter

    def predict_proba(self, scores: ArrayLike) -> Floats:
        """Probabilities of the two classes, shape (m, 2), for scores of shape (m,)."""
        if not hasattr(self, "A_"):
            raise NotFittedError("This PlattScaling is not fitted yet: call 'fit'.")
        with np.errstate(over="ignore"):  # an infinite z is a probability of 0 or 1
            z = self.A_ * _check_scores(scores) + self.B_
        return np.column_stack([sigmoid(z), sigmoid(-z)])


def _is_definite_up_to(rounding: float, K: Floats) -> bool:
    """Whether K has no eigenvalue below -rounding - 1e-10 times the largest one.

    K need be symmetric only up to its rounding; its lower half counts.
    """
    unit = np.abs(K).max() or 1.0  # or the eigenvalues of large entries overflow
    if not np.isfinite(unit):
        return True  # Newton's method will say that it is too large
    eigenvalues = np.linalg.eigvalsh(K / unit)
    return bool(eigenvalues[0] >= -rounding / unit - 1e-10 * np.abs(eigenvalues).max())


def _check_search(tol: float, max_iter: int) -> None:
    check_number("tol", tol, above=0, below=1)
    check_integer("max_iter", max_iter, low=1)


def _check_scores(scores: ArrayLike) -> Floats:
    scores = as_float(scores, "scores")
    if scores.ndim != 1 or len(scores) == 0:
        raise ValueError("scores must be a 1-D array with at least one value, got "
                         f"shape {scores.shape}.")
    return scores
