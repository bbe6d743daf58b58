"""Sequential minimal optimisation: one solver for every support vector machine.

Minimise 1/2 a'Qa + p'a subject to y'a = const and 0 <= a_i <= C_i, where
Q_ij = y_i y_j K_ij and y_i = +-1. Two variables move at a time, along the line on which
y'a stays what it is, to the exact minimum on that line or to the edge of the box.

Everything is read off one vector, the signed negative gradient V = -y (Qa + p). Moving
a_i by y_i s and a_j by -y_j s changes the objective at the rate -(V_i - V_j) s, so a
pair with V_i > V_j improves if a_i can move that way ("i is up") and a_j can move the
other way ("j is down"). The largest such difference is the gap; at the optimum it is
not positive, and the solver stops when it falls below the tolerance.

Sources: Platt (1999) for the two-variable step; Keerthi et al. (2001) for the stopping
rule; Fan, Chen and Lin (2005) for the choice of the pair by second-order information.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mlbook.validation import Floats, check_integer, check_number

# curvature of a direction in which the kernel is flat (or, not being positive
# semi-definite, bends down); a long step is then cut by the box
MIN_CURVATURE = 1e-12
CACHE_BYTES = 100 * 2**20


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver found.

    Attributes
    ----------
    alpha : ndarray of shape (m,)
    value : ndarray of shape (m,)
        V = -y (Q alpha + p); an intercept b of the primal problem satisfies V_i = b at
        every free i.
    objective : float, 1/2 a'Qa + p'a
    gap : float, the largest V_i - V_j over pairs that could still move
    n_iter : int
    converged : bool, gap < tol
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
    """Rows of a kernel matrix, computed on first use; the least recent makes room."""

    def __init__(
        self, compute: Callable[[int], Floats], size: int, max_bytes: int = CACHE_BYTES
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
    tol : float
        Stop when the gap is below it; in units of p.
    max_iter : int
        Number of pairs moved at most.
    stop : callable, optional
        Called with (alpha, V) now and then; True ends the search unconverged. For a
        caller that can see that the minimum does not exist.
    """
    y, p, upper = (np.asarray(q, dtype=float) for q in (y, p, upper))
    alpha = np.zeros(len(y)) if alpha is None else np.array(alpha, dtype=float)
    V = _signed_gradient(row, alpha, y, p)
    # 0 where a variable may move up (down) and -inf (+inf) where the box stops it, so
    # that adding the mask takes the others out of a maximum (minimum)
    up = np.where(np.where(y > 0, alpha < upper, alpha > 0), 0.0, -np.inf)
    down = np.where(np.where(y > 0, alpha > 0, alpha < upper), 0.0, np.inf)
    candidates, gains = np.empty_like(V), np.empty_like(V)
    # 1 / (K_ii + K_jj - 2 K_ij) for all j: kept, as an i tends to come back
    inverse_curvature = RowCache(lambda i: 1.0 / np.maximum(
        diagonal[i] + diagonal - 2.0 * row(i), MIN_CURVATURE), len(V))
    gap, n_iter = math.inf, 0
    while n_iter <= max_iter:
        np.add(V, up, out=candidates)
        i = int(candidates.argmax())
        np.add(V, down, out=gains)
        np.subtract(candidates[i], gains, out=gains)  # V_i - V_j, -inf where j is stuck
        gap = float(gains.max())
        if gap < tol or n_iter == max_iter:
            break
        if stop is not None and n_iter % 256 == 255 and stop(alpha, V):
            break
        # the partner that lowers the objective most: (V_i - V_j)^2 / curvature
        np.maximum(gains, 0.0, out=gains)
        gains *= gains
        steepness = inverse_curvature(i)
        gains *= steepness
        j = int(gains.argmax())
        step = _move(alpha, y, upper, i, j, (V[i] - V[j]) * steepness[j])
        np.subtract(row(i), row(j), out=gains)
        gains *= step
        V -= gains
        for k in (i, j):
            below, above = alpha[k] < upper[k], alpha[k] > 0
            up[k] = 0.0 if (below if y[k] > 0 else above) else -np.inf
            down[k] = 0.0 if (above if y[k] > 0 else below) else np.inf
        n_iter += 1
    # 1/2 a'Qa + p'a with Qa = -yV - p
    objective = 0.5 * float(alpha @ (p - y * V))
    return Solution(alpha, V, objective, max(gap, 0.0), n_iter, gap < tol,
                    _intercept(V, up, down))


def _signed_gradient(
    row: Callable[[int], Floats], alpha: Floats, y: Floats, p: Floats
) -> Floats:
    V = -y * p
    for i in np.flatnonzero(alpha):
        V -= alpha[i] * y[i] * row(int(i))
    return V


def _move(
    alpha: Floats, y: Floats, upper: Floats, i: int, j: int, step: float
) -> float:
    """Move a_i by y_i step and a_j by -y_j step, as far as the box allows."""
    room_i = upper[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else upper[j] - alpha[j]
    step = min(step, room_i, room_j)
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


def check_box_problem(tol: float, max_iter: int) -> None:
    """Raise TypeError or ValueError for a bad tolerance or iteration limit."""
    check_number("tol", tol, above=0)
    check_integer("max_iter", max_iter, low=1)

