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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.exceptions import warn_not_converged
from mlbook.kernels.kernel_functions import Linear
from mlbook.kernels.smo import RowCache, Solution, check_box_problem, solve
from mlbook.validation import Floats

# a street narrower than this part of the data's size counts as none
NARROWEST_STREET = 1e-4
# what counts as zero in the active set, relative to what it is compared with
ROUNDING = 1e-10


class NotSeparableError(ValueError):
    """No hyperplane separates the two classes."""


def signed_distances(X: Floats, w: Floats, b: float) -> Floats:
    """Distance of every row of X from {x: w'x + b = 0}, positive where w points to.

    X is (n, d), w is (d,); the result is (n,), in units of X.
    """
    return (X @ w + b) / np.linalg.norm(w)


def weights(alpha: Floats, y: Floats, X: Floats) -> Floats:
    """w = sum_i alpha_i y_i x_i, of shape (d,)."""
    return (alpha * y) @ X


def support_intercept(alpha: Floats, y: Floats, X: Floats, w: Floats) -> float:
    """b = y_s - w'x_s, averaged over the support vectors s (alpha_s > 0)."""
    on_edge = alpha > 0
    return float(np.mean(y[on_edge] - X[on_edge] @ w))


def hull_distance(alpha: Floats, y: Floats, X: Floats) -> float:
    """Distance between the two weighted class means that alpha stands for.

    With y'alpha = 0, w = sum_i alpha_i y_i x_i is half of sum alpha times the
    difference of a point in the hull of one class and a point in the hull of the
    other. No street is wider than the distance of two such points.
    """
    return float(2 * np.linalg.norm(weights(alpha, y, X)) / alpha.sum())


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

    X is (n, d) and y is (n,) with entries +1 and -1.
    """
    n, d = X.shape
    Q = np.diag(np.r_[0.0, np.ones(d)])  # b costs nothing
    A = y[:, np.newaxis] * np.column_stack([np.ones(n), X])
    return QuadraticProblem(Q, np.zeros(d + 1), A, np.ones(n))


def dual_problem(X: Floats, y: Floats) -> QuadraticProblem:
    """The dual for u = alpha: a variable and a sign constraint a sample, y'u = 0.

    X is (n, d) and y is (n,) with entries +1 and -1.
    """
    n = len(y)
    signed = y[:, np.newaxis] * X
    return QuadraticProblem(signed @ signed.T, -np.ones(n), np.eye(n), np.zeros(n),
                            E=y[np.newaxis])


def primal_qp(X: Floats, y: Floats) -> tuple[Floats, float, Floats]:
    """Solve the primal for X (n, d) and y (n,) of +1 and -1; return w, b and alpha.

    Raises NotSeparableError if no hyperplane separates the classes.
    """
    # with one sample alone, w = 0 and b = y_1 is the minimum
    u, alpha = active_set(primal_problem(X, y), [0])
    return u[1:], float(u[0]), alpha


def active_set(
    problem: QuadraticProblem, active: list[int], tol: float = 1e-9
) -> tuple[Floats, Floats]:
    """Minimise 1/2 u'Qu + p'u subject to A u >= c by a dual active-set method.

    The constraints in the active set hold with equality. The one violated most joins,
    and its multiplier grows until it holds; on the way others may have to leave, as
    their multipliers fall to zero. Multipliers are never negative, so once no
    constraint is violated the point is optimal.

    Parameters
    ----------
    problem : QuadraticProblem without E
        Q must be positive definite on {z : A_active z = 0}.
    active : list of int
        Constraints to start from, such that the minimum with equality there has
        multipliers >= 0: for the primal SVM, any one sample.
    tol : float
        Largest violation of a constraint that counts as none, in units of c.

    Returns
    -------
    u : ndarray of shape (m,), the minimiser
    multipliers : ndarray, one for each constraint, 0 for those not active

    Raises
    ------
    NotSeparableError
        If no point satisfies all constraints.
    ValueError
        If the constraints in ``active`` are no such start.
    """
    active = list(active)
    m, A, c = len(problem.p), problem.A, problem.c
    system = _kkt(problem, active)
    if np.linalg.matrix_rank(system) < len(system):
        raise ValueError(f"the constraints {active} do not determine a minimum: begin "
                         "with others.")
    start = np.linalg.solve(system, np.r_[-problem.p, c[active]])
    u, multipliers = start[:m], np.zeros(len(c))
    multipliers[active] = -start[m:]
    if (multipliers < 0).any():
        raise ValueError(f"the constraints {active} have a negative multiplier: begin "
                         "with others.")
    while True:
        slack = A @ u - c
        entering = int(slack.argmin())
        if slack[entering] >= -tol:
            return u, multipliers
        while entering not in active:
            u = _advance(problem, active, u, multipliers, entering)


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


class HardMarginSVC(Classifier):
    """The linear classifier with the widest street between two separable classes.

    Parameters
    ----------
    tol : float > 0
        Largest violation of the optimality conditions, in units of the margin (1).
    max_iter : int
        Most pairs of multipliers moved.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (d,), w, in 1 / (units of X)
    intercept_ : float, b
    margin_ : float, distance of the nearest samples from the boundary, in units of X
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

        Raises ValueError unless there are two classes, and NotSeparableError (a
        ValueError) if no hyperplane separates them or the street between them is
        narrower than 1e-4 of the data's size. Warns with ConvergenceWarning where
        max_iter ends the search.
        """
        check_box_problem(self.tol, self.max_iter)
        X, codes, _ = self._check_fit_data_and_target(X, y)
        _check_two_classes(self.classes_)
        y = np.where(codes == 1, 1.0, -1.0)
        # the street is the same wherever the origin lies and whatever the unit is, but
        # rounding errors are not
        centre = X.mean(axis=0)
        size = float(np.linalg.norm(X - centre, axis=1).max()) or 1.0
        Z = (X - centre) / size
        solution = self._solve(Z, y)
        self._store(X, y, Z, centre, size, solution)
        return self

    def _solve(self, Z: Floats, y: Floats) -> Solution:
        n, K = len(y), Linear()
        solution = solve(
            RowCache(K.rows(Z), n), K.diagonal(Z), y, p=-np.ones(n),
            upper=np.full(n, np.inf), tol=self.tol, max_iter=self.max_iter,
            stop=lambda a, _: hull_distance(a, y, Z) < NARROWEST_STREET)
        if not solution.converged:
            self._explain(solution, hull_distance(solution.alpha, y, Z))
        return solution

    def _explain(self, solution: Solution, distance: float) -> None:
        """Say why the search ended early: no street, or too few steps."""
        if distance < NARROWEST_STREET:
            raise NotSeparableError(
                "The two classes are not linearly separable, or only by a street "
                f"narrower than {NARROWEST_STREET:g} of the data's size. Use SVC, "
                "which allows violations at a cost C, or add features."
            )
        warn_not_converged(
            f"HardMarginSVC stopped at max_iter={self.max_iter} with a gap of "
            f"{solution.gap:.2g} > tol={self.tol:g}: raise max_iter, or use SVC if the "
            "classes may not be separable."
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
        """w'x + b, shape (m,), positive for ``classes_[1]``."""
        return self._check_new_data(X) @ self.coef_ + self.intercept_

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class on whose side of the boundary x lies, shape (m,)."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]


def _check_two_classes(classes: NDArray[Any]) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"HardMarginSVC needs 2 classes, got one class: {classes[0]!r}."
        )
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"multiclass: {len(classes)} classes."
        )
