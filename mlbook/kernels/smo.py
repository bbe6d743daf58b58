"""Sequential minimal optimisation: one solver for every support vector machine.

Minimise 1/2 a'Qa + p'a subject to y'a = const and 0 <= a_i <= C_i, where
Q_ij = y_i y_j K_ij and y_i = +-1. Two variables move at a time, along the line on which
y'a stays what it is, to the exact minimum on that line or to the edge of the box.

Everything is read off one vector, the signed negative gradient V = -y (Qa + p). Moving
a_i by y_i s and a_j by -y_j s changes the objective at the rate -(V_i - V_j) s, so a
pair with V_i > V_j improves if a_i can move that way ("i is up") and a_j can move the
other way ("j is down"). The largest such difference is the gap; at the optimum it is
not positive, and the solver stops when it falls below the tolerance.

V is updated from step to step, and rounding errors add up in it. So when the gap seems
closed, V is computed anew from a, and the search goes on from there if it is not. Where
even the new V is not known to the tolerance, as the kernel's values are too large, the
solution counts as not converged.

Sources: Platt (1999) for the two-variable step; Keerthi et al. (2001) for the stopping
rule; Fan, Chen and Lin (2005) for the choice of the pair by second-order information.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlbook.validation import Floats, as_float, check_integer, check_number

# a curvature below this share of K_ii + K_jj is rounding: the pair counts as flat
EPSILON = float(np.finfo(float).eps)
FLAT = 4 * EPSILON
MIN_CURVATURE = 1e-12  # stands in for the curvature of a flat pair when one is chosen
STEEPEST = 1 / MIN_CURVATURE
FAR = 1e12  # step of a flat pair where the box is open: ``stop`` can see it
CACHE_BYTES = 100 * 2**20  # of one problem: half for rows of K, half for curvatures
LOST_SEARCHES = 10  # at most, that rounding errors in V lead astray
OVERFLOW = ("The kernel's values times the multipliers overflow: centre and scale the "
            "features, or lower C.")


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver found.

    Attributes
    ----------
    alpha : ndarray of shape (m,)
    value : ndarray of shape (m,)
        V = -y (Q alpha + p), computed from alpha; an intercept b of the primal problem
        satisfies V_i = b at every free i.
    objective : float, 1/2 a'Qa + p'a
    gap : float, the largest V_i - V_j over pairs that could still move
    n_iter : int
    converged : bool
        gap < tol. If not, and n_iter < max_iter, then ``stop`` ended the search, or
        rounding errors are larger than tol.
    intercept : float, the mean of V over the free variables, or the middle of the
        interval that the optimality conditions leave where none is free
    """

    alpha: Floats
    value: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool
    intercept: float


class RowCache:
    """Rows of a kernel matrix, computed on first use; the least recent makes room.

    ``size`` is the length of a row. Two rows are kept even where ``max_bytes`` is too
    small for them.
    """

    def __init__(
        self, compute: Callable[[int], Floats], size: int,
        max_bytes: int = CACHE_BYTES // 2,
    ) -> None:
        self._compute = compute
        self._rows: OrderedDict[int, Floats] = OrderedDict()
        # two rows are in use at once
        self._capacity = max(2, max_bytes // (8 * max(size, 1)))

    def __call__(self, i: int) -> Floats:
        row = self._rows.get(i)
        if row is None:
            if len(self._rows) >= self._capacity:
                self._rows.popitem(last=False)
            row = self._rows[i] = self._compute(i)
        else:
            self._rows.move_to_end(i)
        return row


def solve(
    row: Callable[[int], Floats],
    diagonal: Floats,
    y: Floats,
    p: Floats,
    upper: Floats,
    alpha: Floats | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    stop: Callable[[Floats, Floats], bool] | None = None,
    cache_bytes: int = CACHE_BYTES // 2,
) -> Solution:
    """Minimise 1/2 a'Qa + p'a, y'a constant, 0 <= a <= upper, with Q = yy' K.

    Parameters
    ----------
    row : callable
        ``row(i)`` is row i of K, shape (m,); it is not modified.
    diagonal : ndarray of shape (m,), the diagonal of K
    y : ndarray of shape (m,), +1 or -1
    p : ndarray of shape (m,)
    upper : ndarray of shape (m,), the box; may hold infinity
    alpha : ndarray of shape (m,), optional
        A feasible start, 0 by default. It fixes the constant y'a.
    tol : float > 0
        Stop when the gap is below it; in units of p.
    max_iter : int >= 0
        Number of pairs moved at most.
    stop : callable, optional
        Called with (alpha, V) now and then; True ends the search unconverged. For a
        caller that can see that the minimum does not exist.
    cache_bytes : int
        Memory for the curvatures that are kept; ``row`` has a cache of its own.

    Raises ValueError or TypeError for an argument that is not as said here, and
    ValueError where the values of K and the box overflow.
    """
    check_number("tol", tol, above=0)
    check_integer("max_iter", max_iter, low=0)
    diagonal, y, p, upper, alpha = _check_problem(diagonal, y, p, upper, alpha)
    # 1 / (K_ii + K_jj - 2 K_ij) for all j: kept, as an i tends to come back
    inverse_curvature = RowCache(
        lambda i: _inverse_curvature(diagonal[i], diagonal, row(i)), len(y),
        cache_bytes)
    longest = max(10_000, 10 * len(y))  # moves before V is computed anew
    n_iter, n_lost, objective = 0, 0, math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        V = _signed_gradient(row, alpha, y, p)
        while True:
            n_moved, stopped = _descend(row, inverse_curvature, alpha, V, y, upper, tol,
                                        min(longest, max_iter - n_iter), stop)
            n_iter += n_moved
            V = _signed_gradient(row, alpha, y, p)
            up, down = _directions(alpha, y, upper)
            gap = float((V + up).max() - (V + down).min())
            before = objective
            # 1/2 a'Qa + p'a with Qa = -yV - p
            objective = 0.5 * float(alpha @ (p - y * V))
            # rounding errors had closed the gap, or undone what the moves gained
            n_lost += n_moved < longest or not objective < before
            spent = n_iter >= max_iter or n_lost == LOST_SEARCHES
            if gap < tol or stopped or spent:
                break
    if not math.isfinite(objective):
        raise ValueError(OVERFLOW)
    blurred = _rounding(alpha, diagonal, p) > tol
    return Solution(alpha, V, objective, max(gap, 0.0), n_iter,
                    gap < tol and not (stopped or blurred), _intercept(V, up, down))


def _descend(
    row: Callable[[int], Floats], inverse_curvature: Callable[[int], Floats],
    alpha: Floats, V: Floats, y: Floats, upper: Floats, tol: float, max_moves: int,
    stop: Callable[[Floats, Floats], bool] | None,
) -> tuple[int, bool]:
    """Move pairs until the gap is below tol; change alpha and V in place.

    Returns how many pairs were moved, and whether ``stop`` ended the search.
    """
    up, down = _directions(alpha, y, upper)
    candidates, gains = np.empty_like(V), np.empty_like(V)
    for n_moved in range(max_moves):
        np.add(V, up, out=candidates)
        i = int(candidates.argmax())
        np.add(V, down, out=gains)
        np.subtract(candidates[i], gains, out=gains)  # V_i - V_j, -inf where j is stuck
        if not gains.max() >= tol:  # nor where it is not a number, after an overflow
            return n_moved, False
        if stop is not None and n_moved % 256 == 255 and stop(alpha, V):
            return n_moved, True
        # the partner that lowers the objective most: (V_i - V_j)^2 / curvature
        np.maximum(gains, 0.0, out=gains)
        gains *= gains
        steepness = inverse_curvature(i)
        gains *= steepness
        j = int(gains.argmax())
        # a flat pair has no lowest point: it goes to the edge of the box
        step = (V[i] - V[j]) * steepness[j] if steepness[j] != STEEPEST else math.inf
        step = _move(alpha, y, upper, i, j, step)
        np.subtract(row(i), row(j), out=gains)
        gains *= step
        V -= gains
        for k in (i, j):
            below, above = alpha[k] < upper[k], alpha[k] > 0
            up[k] = 0.0 if (below if y[k] > 0 else above) else -np.inf
            down[k] = 0.0 if (above if y[k] > 0 else below) else np.inf
    return max_moves, False


def _directions(alpha: Floats, y: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """What to add to V to leave out what the box stops on its way up, and down.

    0 where y_i a_i may grow (shrink), else -inf (+inf), which takes i out of a maximum
    (minimum).
    """
    below, above = alpha < upper, alpha > 0
    return (np.where(np.where(y > 0, below, above), 0.0, -np.inf),
            np.where(np.where(y > 0, above, below), 0.0, np.inf))


def _inverse_curvature(own: float, diagonal: Floats, row: Floats) -> Floats:
    """1 / (K_ii + K_jj - 2 K_ij) for all j, from K_ii, all K_jj and row i of K.

    STEEPEST where the pair is flat, or, with a kernel that is not positive
    semi-definite, bends down: there is no lowest point then.
    """
    curvature = own + diagonal - 2.0 * row
    bent = curvature > FLAT * (abs(own) + np.abs(diagonal))
    return np.divide(1.0, curvature, out=np.full_like(curvature, STEEPEST),
                     where=bent)


def _check_problem(
    diagonal: Floats, y: Floats, p: Floats, upper: Floats, alpha: Floats | None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the arguments of ``solve`` as float arrays, alpha as a copy."""
    y, p, diagonal = as_float(y, "y"), as_float(p, "p"), as_float(diagonal, "diagonal")
    upper = np.asarray(upper, dtype=float)
    alpha = np.zeros(y.shape) if alpha is None else as_float(alpha, "alpha").copy()
    if y.ndim != 1 or len(y) == 0 or not (np.abs(y) == 1).all():
        raise ValueError("y must be a vector of labels +1 and -1.")
    for name, values in (("diagonal", diagonal), ("p", p), ("upper", upper),
                         ("alpha", alpha)):
        if values.shape != y.shape:
            raise ValueError(
                f"{name} must have the shape of y, {y.shape}, got {values.shape}."
            )
    if not (upper >= 0).all():
        raise ValueError("upper must hold numbers >= 0, or infinity.")
    if not ((alpha >= 0) & (alpha <= upper)).all():
        raise ValueError("alpha must lie in the box, between 0 and upper.")
    return diagonal, y, p, upper, alpha


def _signed_gradient(
    row: Callable[[int], Floats], alpha: Floats, y: Floats, p: Floats
) -> Floats:
    """V = -y (Q alpha + p), of shape (m,); raises ValueError where it overflows."""
    V = -y * p
    for i in np.flatnonzero(alpha):
        V -= alpha[i] * y[i] * row(int(i))
    if not np.isfinite(V).all():
        raise ValueError(OVERFLOW)
    return V


def _rounding(alpha: Floats, diagonal: Floats, p: Floats) -> float:
    """Size of the rounding errors in V: as |K_ij| <= sqrt(K_ii K_jj), no term of the
    sums in V exceeds the products here."""
    sizes = np.sqrt(np.abs(diagonal))
    return float(EPSILON * (np.abs(p).max() + sizes.max() * (alpha @ sizes)))


def _move(
    alpha: Floats, y: Floats, upper: Floats, i: int, j: int, step: float
) -> float:
    """Move a_i by y_i step and a_j by -y_j step, as far as the box allows."""
    room_i = upper[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else upper[j] - alpha[j]
    step = min(step, room_i, room_j)
    if step == math.inf:
        step = FAR
    # exactly onto the edge: a rounding error would leave a variable free that is not
    edge_i = upper[i] if y[i] > 0 else 0.0
    edge_j = 0.0 if y[j] > 0 else upper[j]
    alpha[i] = edge_i if step == room_i else alpha[i] + y[i] * step
    alpha[j] = edge_j if step == room_j else alpha[j] - y[j] * step
    return step


def _intercept(V: Floats, up: Floats, down: Floats) -> float:
    free = (up == 0) & (down == 0)
    if free.any():
        return float(V[free].mean())
    # V_i <= b for those that may go up, V_j >= b for those that may go down
    low, high = (V + up).max(initial=-np.inf), (V + down).min(initial=np.inf)
    edges = [q for q in (low, high) if math.isfinite(q)]
    return float(np.mean(edges)) if edges else 0.0


def box(C: float, weight: Floats) -> Floats:
    """C times the weight of each row, the upper edges of the box, shape (n,).

    Raises ValueError where a product leaves the range of float64.
    """
    with np.errstate(over="ignore", under="ignore"):
        upper = C * weight
    if not (np.isfinite(upper).all() and (upper > 0).all()):
        raise ValueError(
            f"C times sample_weight must be finite and > 0, got C={C:g} and weights "
            f"from {weight.min():g} to {weight.max():g}."
        )
    return upper


def check_box_problem(tol: float, max_iter: int) -> None:
    """Raise TypeError or ValueError for a bad tolerance or iteration limit."""
    check_number("tol", tol, above=0)
    check_integer("max_iter", max_iter, low=1)

