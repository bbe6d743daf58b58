"""Transformations that come before a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mlbook.base import Transformer
from mlbook.validation import Floats


class StandardScaler(Transformer):
    """Subtract each column's mean and divide by its standard deviation.

    The standard deviation is the population's, dividing by n (by the sum of the weights
    with sample weights). A column that is constant up to rounding is only centred.

    Parameters
    ----------
    with_mean, with_std : bool
        Whether to centre and whether to scale.

    Attributes
    ----------
    mean_, scale_ : ndarrays of shape (d,), in the units of the columns
        What is subtracted and what is divided by: 0 and 1 where that is switched off.
    """

    def __init__(self, with_mean: bool = True, with_std: bool = True) -> None:
        self.with_mean = with_mean
        self.with_std = with_std

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> StandardScaler:
        """Learn means and standard deviations from X of shape (n, d); y is ignored."""
        X, weight = self._check_fit_data(X, sample_weight)
        share = weight / weight.sum()
        mean = share @ X
        deviation = np.sqrt(share @ (X - mean) ** 2)
        # The mean is exact to about n roundings of the largest entry, and so no
        # deviation below that is one that the data show.
        rounding = len(X) * np.finfo(float).eps * np.abs(X).max(axis=0)
        constant = deviation <= rounding
        self.mean_ = mean if self.with_mean else np.zeros_like(mean)
        self.scale_ = np.ones_like(mean)
        if self.with_std:
            self.scale_ = np.where(constant, 1.0, deviation)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return (X - mean) / scale, of X's shape, without units."""
        return (self._check_new_data(X) - self.mean_) / self.scale_

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return X scale + mean: what ``transform`` maps to X."""
        return self._check_new_data(X) * self.scale_ + self.mean_
