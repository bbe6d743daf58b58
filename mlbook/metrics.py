"""Measures of predictions that several chapters report."""

from __future__ import annotations

import numpy as np

from mlbook.scaling import scaled
from mlbook.validation import Floats

ROUNDING = 1e-12  # relative; a mean of equal numbers may differ from them in last digits


def r_squared(y: Floats, prediction: Floats, weight: Floats) -> float:
    """Return R^2 = 1 - (squared error) / (squared error of the mean of y).

    All three have shape (n,); the weights are >= 0, one of them above 0. The result
    lies in [-inf, 1]. A constant y has no variance to explain: then it is 1 for a
    perfect prediction, up to rounding, and 0 otherwise. Both squares are taken in the
    unit of the largest deviation from the mean: those of 1e-170 or 1e170 are 0 or
    infinite.
    """
    counted = weight > 0
    y, prediction, weight = y[counted], prediction[counted], weight[counted]
    if y.max() == y.min():
        return float((np.abs(y - prediction) <= ROUNDING * np.abs(y)).all())
    weight = scaled(weight)
    with np.errstate(over="ignore"):  # an error without bound has R^2 = -inf
        prediction, y = scaled(prediction, y), scaled(y)
        deviation = y - np.average(y, weights=weight)
        error, deviation = scaled(y - prediction, deviation), scaled(deviation)
        return float(1 - np.average(error**2, weights=weight)
                     / np.average(deviation**2, weights=weight))
