"""Scaling by powers of two, which rounds nothing.

Squares and sums of very large or very small numbers leave float64. Divided by a power
of two near the largest of them, they do not, and every digit stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlbook.validation import Floats


def largest_exponent(values: Floats, axis: int | None = None) -> Any:
    """Return k with 2**(k - 1) <= the largest |value| < 2**k; 0 where all are 0.

    With ``axis`` one k for each vector along it.
    """
    return np.frexp(np.abs(values).max(axis=axis, initial=0.0))[1]


def scaled(values: Floats, reference: Floats | None = None) -> Floats:
    """Return the values over the power of two that brings the largest to [1/2, 1).

    With ``reference``, over the power of two that does so with the reference.
    """
    if reference is None:
        reference = values
    return np.ldexp(values, -largest_exponent(reference))
