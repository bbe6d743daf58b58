"""The hard-margin support vector machine: the widest street between two classes.

For labels y_i = +-1 the primal problem is

    min over w, b of  |w|^2 / 2  subject to  y_i (w'x_i + b) >= 1,

a street of width 2 / |w| with no sample inside. Its dual is

    min over alpha of  1/2 alpha'Q alpha - sum_i alpha_i,  Q_ij = y_i y_j x_i'x_j,
    y'alpha = 0,  alpha_i >= 0.

``HardMarginSVC`` solves the dual by sequential minimal optimisation, without the upper
edge of the box. ``active_set`` solves the primal on its explicit matrices, for problems
small enough to look at: it starts from one sample and takes in, again and again, the
sample that violates its constraint most.

Sources: Boser, Guyon and Vapnik (1992) for the machine and its dual; Goldfarb and
Idnani (1983) for the active set; Bennett and Bredensteiner (2000) for the geometry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.exceptions import warn_not_converged
from mlbook.kernels.kernel_functions import Linear
from mlbook.kernels.smo import RowCache, Solution, solve
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    check_integer,
    check_number,
)

# a street narrower than this part of the data's size counts as none
NARROWEST_STREET = 1e-4
NO_STREET = (
    "The two classes are not linearly separable, or only by a street narrower than "
    f"{NARROWEST_STREET:g} of the data's size. Use SVC, which allows violations at a "
    "cost C, add features, or standardise the columns."
)
# what counts as zero in the active set and at a start, relative to what it is
# compared with
ROUNDING = 1e-10
# beyond these sizes of the data, prices in 1 / (units of X)^2 may leave float64
SMALLEST_SIZE, LARGEST_SIZE = 1e-140, 1e140


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result", Floats, float)


class NotSeparableError(ValueError):
    """No hyperplane separates the two classes."""


# ------------------------------------------------------- the formulas of the page


def finite_result(
    function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """Make ``function`` raise ValueError where its result is not finite."""
    @wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with np.errstate(over="ignore", invalid="ignore"):
            result = function(*args, **kwargs)
        if not np.isfinite(result).all():
            raise ValueError(
                f"The result of {function.__name__} is not finite: an argument holds "
                "NaN or infinity, which must be mended, or is too large for float64: "
                "rescale X."
            )
        return result
    return checked


def check_prices(alpha: Floats) -> None:
    """Raise ValueError unless every alpha is >= 0 and their sum finite and > 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        price = float(alpha.sum())
    if not ((alpha >= 0).all() and 0 < price < np.inf):
        raise ValueError(
            "Every alpha must be >= 0, and the sum of alpha finite and > 0 (without a "
            f"support vector there is no street), got a sum of {price:g} and a least "
            f"alpha of {alpha.min(initial=np.inf):g}: pass the alpha of a solver."
        )


@finite_result
def signed_distances(X: Floats, w: Floats, b: float) -> Floats:
    """Distance of every row of X from {x: w'x + b = 0}, positive where w points to.

    X is (n, d), w is (d,); the result is (n,), in units of X. Raises ValueError if
    the length of w is 0 or not finite, or a distance is not finite.
    """
    length = float(np.linalg.norm(w))
    if not 0 < length < np.inf:
        raise ValueError(f"w must have a finite length > 0, got {length:g}.")
    return (X @ w + b) / length


@finite_result
def weights(alpha: Floats, y: Floats, X: Floats) -> Floats:
    """w = sum_i alpha_i y_i x_i, of shape (d,). Raises ValueError unless finite."""
    return (alpha * y) @ X


@finite_result
def support_intercept(alpha: Floats, y: Floats, X: Floats, w: Floats) -> float:
    """b = y_s - w'x_s, averaged over the support vectors s (alpha_s > 0).

    Raises ValueError as ``check_prices``, or if b is not finite.
    """
    check_prices(alpha)
    on_edge = alpha > 0
    return float(np.mean(y[on_edge] - X[on_edge] @ w))


@finite_result
def hull_distance(alpha: Floats, y: Floats, X: Floats) -> float:
    """Distance between the two weighted class means that alpha stands for.

    With y'alpha = 0, w = sum_i alpha_i y_i x_i is half of sum alpha times the
    difference of a point in the hull of one class and a point in the hull of the
    other. No street is wider than the distance of two such points. Raises ValueError
    as ``check_prices``, or if the distance is not finite.
    """
    check_prices(alpha)
    share = alpha / alpha.sum()
    # hypot, as the squares of small or large weights leave float64
    return 2 * math.hypot(*weights(share, y, X))


def _centred(X: Floats) -> tuple[Floats, Floats, float]:
    """Return Z = (X - centre) / size, the centre, and the data's size.

    The street is the same wherever the origin lies and whatever the unit is, but
    rounding errors are not. The centre is the mean of the rows, the size their largest
    distance from it (1 if all are equal), so that no row of Z is longer than 1. Raises
    ValueError if the size is outside [1e-140, 1e140].
    """
    with np.errstate(over="ignore", invalid="ignore"):
        D = X - X[0]  # exactly 0 in a constant column
        mean = D.mean(axis=0)
        D -= mean
        unit = float(np.abs(D).max()) or 1.0  # the squares of D may overflow
        size = unit * float(np.linalg.norm(D / unit, axis=1).max()) or 1.0
    size = np.inf if np.isnan(size) else size  # D itself was too large
    if not SMALLEST_SIZE <= size <= LARGEST_SIZE:
        raise ValueError(
            f"The data have a size of {size:.3g}, which must lie between "
            f"{SMALLEST_SIZE:g} and {LARGEST_SIZE:g}: rescale X."
        )
    return D / size, X[0] + mean, size


# ------------------------------------------------- the two problems as matrices


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """min 1/2 u'Qu + p'u subject to A u >= c, and E u = 0 where E is given."""

    Q: Floats
    p: Floats
    A: Floats
    c: Floats
    E: Floats | None = None

    def objective(self, u: Floats) -> float:
        """1/2 u'Qu + p'u."""
        return float(0.5 * u @ self.Q @ u + self.p @ u)


def primal_problem(X: Floats, y: Floats) -> QuadraticProblem:
    """The primal for u = (b, w): d + 1 variables, one constraint a sample.

    X is (n, d) and y is (n,) with entries +1 and -1. Raises ValueError for other
    shapes.
    """
    _check_shapes(X, y)
    n, d = X.shape
    Q = np.diag(np.r_[0.0, np.ones(d)])  # b costs nothing
    A = y[:, np.newaxis] * np.column_stack([np.ones(n), X])
    return QuadraticProblem(Q, np.zeros(d + 1), A, np.ones(n))


def dual_problem(X: Floats, y: Floats) -> QuadraticProblem:
    """The dual for u = alpha: a variable and a sign constraint a sample, y'u = 0.

    X is (n, d) and y is (n,) with entries +1 and -1. Raises ValueError for other
    shapes.
    """
    _check_shapes(X, y)
    n = len(y)
    signed = y[:, np.newaxis] * X
    return QuadraticProblem(signed @ signed.T, -np.ones(n), np.eye(n), np.zeros(n),
                            E=y[np.newaxis])


def _check_shapes(X: Floats, y: Floats) -> None:
    """Raise ValueError unless X is (n, d) and y is (n,): others might broadcast."""
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X must be a matrix and y hold a label for each of its rows, got the "
            f"shapes {X.shape} and {y.shape}."
        )


def primal_qp(
    X: ArrayLike, y: ArrayLike, tol: float = 1e-9
) -> tuple[Floats, float, Floats]:
    """Solve the primal for X (n, d) and y (n,) of +1 and -1; return w, b and alpha.

    A constraint may be violated by ``tol``, 0 < tol < 1, in units of the margin (1); a
    street narrower than 1e-3 of the data's size may need a larger one than the default.

    Raises ValueError for another tol (from 1 on a sample on the wrong side would pass),
    or unless X is finite and y holds both labels and no other, and
    NotSeparableError if no hyperplane separates the classes, or only by a street
    narrower than about 2e-5 of the data's size, which rounding errors hide.
    RuntimeError as ``active_set``.
    """
    check_number("tol", tol, above=0, below=1)
    X, y = as_matrix(X), as_float(y, "y")
    if y.shape != (len(X),) or set(np.unique(y)) != {-1.0, 1.0}:
        raise ValueError(
            f"y must hold a label for each of the {len(X)} rows of X, +1 or -1, and "
            f"both of them, got shape {y.shape} and values {np.unique(y)[:5].tolist()}."
        )
    Z, centre, size = _centred(X)
    # with one sample alone, w = 0 and b = y_1 is the minimum
    u, alpha = active_set(primal_problem(Z, y), [0], tol)
    w = u[1:] / size
    return w, float(u[0] - w @ centre), alpha / size**2


def active_set(
    problem: QuadraticProblem, active: list[int], tol: float = 1e-9,
    max_iter: int = 10_000,
) -> tuple[Floats, Floats]:
    """Minimise 1/2 u'Qu + p'u subject to A u >= c by a dual active-set method.

    The constraints in the active set hold with equality. The one violated most joins,
    and its multiplier grows until it holds; on the way others may have to leave, as
    their multipliers fall to zero. Multipliers are never negative, so once no
    constraint is violated the point is optimal.

    Parameters
    ----------
    problem : QuadraticProblem without E
        Q is symmetric, has no direction of negative curvature and is positive definite
        on {z : A_active z = 0}.
    active : list of int
        Constraints to start from, such that the minimum with equality there has
        multipliers >= 0: for the primal SVM, any one sample.
    tol : float > 0
        Largest violation of a constraint that counts as none, in units of c.
    max_iter : int
        Most constraints that may join or leave.

    Returns
    -------
    u : ndarray of shape (m,), the minimiser
    multipliers : ndarray, one for each constraint, 0 for those not active

    Raises
    ------
    NotSeparableError
        If no point satisfies all constraints.
    ValueError
        If the constraints in ``active`` are no such start, or ``problem`` has an E, a
        value that is not finite, shapes that do not fit, or another Q.
    RuntimeError
        If the tolerance cannot be met: rounding errors are larger, or max_iter ends
        the search.
    """
    check_number("tol", tol, above=0)
    check_integer("max_iter", max_iter, low=1)
    problem = _check_problem(problem)
    last = len(problem.c) - 1
    active = [check_integer("each of active", i, low=0, high=last) for i in active]
    u, multipliers = _start(problem, active)
    n_iter = 0
    while len(problem.c):
        slack = problem.A @ u - problem.c
        entering = int(slack.argmin())
        if slack[entering] >= -tol:
            return u, multipliers
        if entering in active:
            raise RuntimeError(
                f"Rounding errors violate constraint {entering}, which is active, by "
                f"{-slack[entering]:.2g} > tol={tol:g}: scale the problem or raise tol."
            )
        while entering not in active:
            if n_iter == max_iter:
                raise RuntimeError(
                    f"active_set stopped at max_iter={max_iter} with a violation of "
                    f"{-slack[entering]:.2g} > tol={tol:g}: raise max_iter."
                )
            u = _advance(problem, active, u, multipliers, entering)
            n_iter += 1
    return u, multipliers  # nothing constrains u


def _check_problem(problem: QuadraticProblem) -> QuadraticProblem:
    """Return the problem with float arrays, or raise what ``active_set`` says."""
    if problem.E is not None:
        raise ValueError("active_set takes no equations E u = 0: eliminate a variable.")
    # a NaN would be searched for ever
    Q, p, A, c = (as_float(getattr(problem, name), name) for name in "QpAc")
    m, n = p.size, c.size
    for name, array, shape in (("p", p, (m,)), ("c", c, (n,)), ("Q", Q, (m, m)),
                               ("A", A, (n, m))):
        if array.shape != shape:
            raise ValueError(
                f"{name} must have the shape {shape} for the {m} numbers of p and the "
                f"{n} of c, got {array.shape}."
            )
    rounding = ROUNDING * np.abs(Q).max(initial=0.0)
    if (np.abs(Q - Q.T) > rounding).any():
        raise ValueError("Q must be symmetric: pass (Q + Q.T) / 2, the same goal.")
    if np.linalg.eigvalsh(Q).min(initial=0.0) < -rounding:
        raise ValueError("Q has a direction of negative curvature, along which no "
                         "minimum is sure: pass a Q whose eigenvalues are >= 0.")
    return QuadraticProblem(Q, p, A, c)


def _start(problem: QuadraticProblem, active: list[int]) -> tuple[Floats, Floats]:
    """The minimum with equality on the active set, and the multipliers there."""
    m, system = len(problem.p), _kkt(problem, active)
    if np.linalg.matrix_rank(system) < len(system):
        raise ValueError(f"the constraints {active} do not determine a minimum, as far "
                         "as rounding tells: begin with others, or scale the problem.")
    solution = np.linalg.solve(system, np.r_[-problem.p, problem.c[active]])
    multipliers = np.zeros(len(problem.c))
    multipliers[active] = -solution[m:]
    if (multipliers < -ROUNDING * np.abs(multipliers).max(initial=1.0)).any():
        raise ValueError(f"the constraints {active} have a negative multiplier: begin "
                         "with others.")
    return solution[:m], np.maximum(multipliers, 0.0)


def _kkt(problem: QuadraticProblem, active: list[int]) -> Floats:
    """The matrix of: gradient = A_active' multiplier, A_active u = c_active."""
    A = problem.A[active]
    return np.block([[problem.Q, A.T], [A, np.zeros((len(A), len(A)))]])


def _advance(
    problem: QuadraticProblem, active: list[int], u: Floats, multipliers: Floats,
    entering: int,
) -> Floats:
    """Raise the entering multiplier until it is in, or an active one falls to 0.

    Returns the new u and changes ``active`` and ``multipliers`` in place.
    """
    a = problem.A[entering]
    solution = np.linalg.solve(_kkt(problem, active), np.r_[a, np.zeros(len(active))])
    z, r = solution[: len(u)], solution[len(u):]  # u and -multipliers, per unit
    falling = r > ROUNDING
    times = np.full(len(r), np.inf)
    times[falling] = multipliers[active][falling] / r[falling]
    first = float(times.min(initial=np.inf))
    growth = a @ z  # of the constraint's value, >= 0; 0 where a is already spanned
    moves = growth > ROUNDING * (a @ a)
    full = float((problem.c[entering] - a @ u) / growth) if moves else np.inf
    step = min(first, full)
    if step == np.inf:
        raise NotSeparableError(
            "No point satisfies all constraints: no hyperplane separates the classes."
        )
    multipliers[active] -= step * r
    multipliers[entering] += step
    if full <= first:
        active.append(entering)
    else:
        leaving = active.pop(int(times.argmin()))
        multipliers[leaving] = 0.0
    return u + step * z if moves else u


# ------------------------------------------------------------------ estimator


def solve_dual(
    Z: Floats, y: Floats, tol: float, max_iter: int, alpha: Floats | None = None
) -> Solution:
    """Solve the dual for Z (n, d) and y (n,) of +1 and -1, from ``alpha`` or from 0.

    The rows of Z should be about as long as 1: the search ends where the distance of
    the two means falls below 1e-4. No step changes y'alpha, so that it must be 0 at the
    start; only with max_iter=0, which values alpha as it is, may it be another. Raises
    ValueError if it is, and as ``smo.solve``.
    """
    n, kernel = len(y), Linear()
    if alpha is not None and max_iter != 0:
        _check_balanced(as_float(alpha, "alpha"), y)
    return solve(
        RowCache(kernel.rows(Z), n), kernel.diagonal(Z), y, p=-np.ones(n),
        upper=np.full(n, np.inf), alpha=alpha, tol=tol, max_iter=max_iter,
        stop=lambda a, _: hull_distance(a, y, Z) < NARROWEST_STREET)


def _check_balanced(alpha: Floats, y: Floats) -> None:
    """Raise ValueError unless y'alpha = 0 but for rounding."""
    if alpha.shape != np.shape(y):
        raise ValueError(
            f"alpha must have the shape of y, {np.shape(y)}, got {alpha.shape}."
        )
    balance = float(alpha @ y)
    if abs(balance) > ROUNDING * np.abs(alpha).sum():
        raise ValueError(
            f"The start has y'alpha = {balance:g}, which no step changes, but it must "
            "be 0: scale the alpha of one class to the sum of the other's."
        )


class HardMarginSVC(Classifier):
    """The linear classifier with the widest street between two separable classes.

    Parameters
    ----------
    tol : float, 0 < tol < 1
        Largest violation of the optimality conditions, in units of the margin: no
        sample has y (w'x + b) < 1 - tol.
    max_iter : int
        Most pairs of multipliers moved.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (d,), w, in 1 / (units of X)
    intercept_ : float, b
    margin_ : float, distance of the nearest samples from the boundary, in units of X
        Negative where max_iter ended the search with a sample on the wrong side.
    support_ : ndarray, rows of the training data with alpha > 0
    support_vectors_ : ndarray of shape (n_support, d)
    dual_coef_ : ndarray of shape (n_support,)
        alpha_i y_i, with y = +1 for ``classes_[1]``.
    dual_objective_ : float, sum alpha - 1/2 alpha'Q alpha
    n_iter_ : int
    """

    def __init__(self, tol: float = 1e-6, max_iter: int = 1_000_000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> HardMarginSVC:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        There is no sample_weight: a weight k would state a constraint k times, which
        changes nothing. Leave out the rows of weight 0.

        Raises ValueError unless there are two classes and the data's size lies between
        1e-140 and 1e140, and NotSeparableError (a ValueError) if no hyperplane
        separates the classes or the street between them is narrower than 1e-4 of the
        data's size (the largest distance of a sample from their mean). Warns with
        ConvergenceWarning where max_iter ends the search.
        """
        check_number("tol", self.tol, above=0, below=1)
        check_integer("max_iter", self.max_iter, low=1)
        X, codes, _ = self._check_fit_data_and_target(X, y)
        _check_two_classes(self.classes_)
        y = np.where(codes == 1, 1.0, -1.0)
        Z, centre, size = _centred(X)
        solution = solve_dual(Z, y, self.tol, self.max_iter)
        distance = hull_distance(solution.alpha, y, Z)
        if distance < NARROWEST_STREET:
            raise NotSeparableError(NO_STREET)
        self._store(X, y, Z, centre, size, solution)
        if not solution.converged:
            warn_not_converged(self._shortfall(solution))
        return self

    def _shortfall(self, solution: Solution) -> str:
        """What to say of a search that ended early."""
        end, advice = f"at max_iter={self.max_iter}", "raise max_iter"
        if solution.n_iter < self.max_iter:
            end = f"after {solution.n_iter} steps by rounding errors"
            advice = "raise tol"
        side = " (a sample is on the wrong side)" if self.margin_ <= 0 else ""
        return (
            f"HardMarginSVC stopped {end} with a gap of {solution.gap:.2g} "
            f"(tol={self.tol:g}) and a margin of {self.margin_:.3g}{side}: "
            f"{advice}, or use SVC if the classes may not be separable."
        )

    def _store(
        self, X: Floats, y: Floats, Z: Floats, centre: Floats, size: float,
        solution: Solution,
    ) -> None:
        w = weights(solution.alpha, y, Z)
        b = support_intercept(solution.alpha, y, Z, w)
        self.coef_ = w / size
        self.intercept_ = float(b - self.coef_ @ centre)
        self.margin_ = float((y * signed_distances(Z, w, b)).min() * size)
        self.support_ = np.flatnonzero(solution.alpha)
        self.support_vectors_ = X[self.support_].copy()
        # w = sum alpha_i y_i x_i in both units: alpha is 1 / (units of X)^2
        self.dual_coef_ = (solution.alpha * y)[self.support_] / size**2
        self.dual_objective_ = -solution.objective / size**2
        self.n_iter_ = solution.n_iter

    def decision_function(self, X: ArrayLike) -> Floats:
        """w'x + b, shape (m,), positive for ``classes_[1]``.

        Raises ValueError where it leaves the range of float64.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            score = self._check_new_data(X) @ self.coef_ + self.intercept_
        if not np.isfinite(score).all():
            raise ValueError("w'x + b is too large for float64: rescale X.")
        return score

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class on whose side of the boundary x lies, shape (m,)."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]


def _check_two_classes(classes: NDArray[Any]) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"HardMarginSVC needs 2 classes, got one class: {classes.tolist()[0]!r}."
        )
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"multiclass: {len(classes)} classes."
        )
