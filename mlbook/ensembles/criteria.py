"""What a split is worth: scores of sums over the rows of a node.

Every criterion of this part works on sums that add up over rows: class weights, (w, wy)
or (g, h). Cutting a node into two parts gains

    gain = score(left) + score(right) - score(node),

and since the sums of the right part are those of the node minus those of the left part,
one running sum along a sorted feature prices all cuts. A score is minus the total
impurity of a node (weight times impurity) up to terms that add over rows and therefore
cancel in the gain: a higher score is a purer node.

Sources: Breiman, Friedman, Olshen and Stone (1984) for Gini, entropy and squared error;
Chen and Guestrin (2016) for the second-order score.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mlbook.validation import Floats


class Criterion(Protocol):
    """What the split finders ask of a criterion."""

    def score(self, sums: Floats) -> NDArray[np.floating[Any]]:
        """Return the score of sums of shape (s, ...), of shape (...)."""

    def allowed(self, sums: Floats) -> NDArray[np.bool_] | None:
        """Return where ``sums``, shape (s, ...), are enough for a child; None: all."""


class Gini:
    """Sums are the weights of the K classes. The impurity is 1 - sum_k p_k^2.

    Sums found as a difference may be negative by a rounding error; these count as 0, or
    a part that holds next to nothing would have a score without bound.
    """

    def score(self, sums: Floats) -> Floats:
        sums = np.maximum(sums, 0.0)
        scores = np.einsum("k...,k...->...", sums, sums)
        scores /= _positive(sums.sum(axis=0))
        return scores

    def allowed(self, sums: Floats) -> None:
        return None

    def impurity(self, sums: Floats) -> Floats:
        """Return 1 - sum_k p_k^2, in [0, 1 - 1/K], without cancellation."""
        p = sums / _positive(sums.sum(axis=0))
        return (p * (1 - p)).sum(axis=0)


class Entropy:
    """Sums are the weights of the K classes. The impurity is -sum_k p_k log2 p_k."""

    def score(self, sums: Floats) -> Floats:
        return _x_log_x(sums).sum(axis=0) - _x_log_x(sums.sum(axis=0))

    def allowed(self, sums: Floats) -> None:
        return None

    def impurity(self, sums: Floats) -> Floats:
        """Return -sum_k p_k log2 p_k, in [0, log2 K], in bits."""
        p = sums / _positive(sums.sum(axis=0))
        return np.maximum(-_x_log_x(p).sum(axis=0), 0.0)


class Misclassification:
    """Sums are the weights of the K classes. The impurity is 1 - max_k p_k."""

    def score(self, sums: Floats) -> Floats:
        return sums.max(axis=0)

    def allowed(self, sums: Floats) -> None:
        return None

    def impurity(self, sums: Floats) -> Floats:
        """Return 1 - max_k p_k, in [0, 1 - 1/K]."""
        p = sums / _positive(sums.sum(axis=0))
        return 1 - p.max(axis=0)


class SquaredError:
    """Sums are (w, wy). The impurity is the variance; its w y^2 cancels in the gain.

    The score is the square of a sum: ``ExactSplits`` subtracts the mean of a node from
    its y, which leaves the gain as it is.
    """

    def score(self, sums: Floats) -> Floats:
        weight, target = sums
        return target * target / _positive(weight)

    def mean(self, sums: Floats) -> Floats:
        """Return wy / w, 0 where w is 0."""
        weight, target = sums
        return target / _positive(weight)

    def allowed(self, sums: Floats) -> None:
        return None


class Newton:
    """Sums are (G, H) of a loss's slopes and curvatures: the score is G^2 / (H + lambda).

    It is twice what a leaf of that node lowers the loss by, as in the xgboost library,
    whose gain has no factor 1/2.

    Parameters
    ----------
    reg_lambda : float >= 0, in units of H
    min_child_weight : float >= 0, the least H of a child
    """

    def __init__(self, reg_lambda: float, min_child_weight: float = 0.0) -> None:
        self.reg_lambda = reg_lambda
        self.min_child_weight = min_child_weight

    def score(self, sums: Floats) -> NDArray[np.floating[Any]]:
        slope, curvature = sums
        scores = slope * slope
        denominator = curvature + self.reg_lambda
        if self.reg_lambda == 0:  # without curvature there is no best value: 0
            denominator[denominator <= 0] = np.inf
        scores /= denominator
        return scores

    def allowed(self, sums: Floats) -> NDArray[np.bool_]:
        return sums[1] >= self.min_child_weight

    def leaf_value(self, sums: Floats) -> Floats:
        """Return -G / (H + lambda), the minimum of a leaf's parabola; 0 without one."""
        slope, curvature = sums
        denominator = curvature + self.reg_lambda
        return np.where(denominator > 0, -slope / _positive(denominator), 0.0)


def _positive(values: Any) -> Any:
    """Replace what is not above 0 by infinity: dividing by it gives 0."""
    return np.where(values > 0, values, np.inf)


def _x_log_x(x: Floats) -> Floats:
    """Return x log2 x, with its limit 0 at x = 0."""
    return x * np.log2(np.where(x > 0, x, 1.0))
