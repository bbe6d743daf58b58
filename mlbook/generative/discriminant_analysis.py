"""Gaussian discriminant analysis with one covariance matrix for all classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.validation import Floats


class LinearDiscriminantAnalysis(Classifier):
    """Classes are normal, x | k ~ N(mu_k, Sigma), with a covariance they share.

    All parameters are the maximum-likelihood estimates: the classes' shares and means,
    and the mean of (x - mu)(x - mu)' within classes. log p(k) + log p(x | k) is then
    linear in x but for a term that all classes share. A direction in which no class
    varies cannot be scaled and is ignored.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    priors_ : ndarray of shape (K,), the shares of the classes
    means_ : ndarray of shape (K, d), in the units of X
    scalings_ : ndarray of shape (d, rank), W with W W' = Sigma^-1 (its pseudo-inverse)
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LinearDiscriminantAnalysis:
        """Fit to X of shape (n, d) and labels y of shape (n,).

        Raises ValueError for bad data, or where no class varies in any direction.
        """
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        membership = np.eye(len(self.classes_))[y] * weight[:, np.newaxis]
        totals = membership.sum(axis=0)
        self.priors_ = totals / totals.sum()
        self.means_ = membership.T @ X / totals[:, np.newaxis]
        self.scalings_ = _whitening(X - self.means_[y], weight, X)
        return self

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return log P(k | x), of shape (m, K), columns in the order of classes_."""
        X = self._check_new_data(X)
        difference = (X[:, np.newaxis] - self.means_) @ self.scalings_
        joint = np.log(self.priors_) - (difference**2).sum(axis=2) / 2
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return P(k | x), of shape (m, K), columns in the order of classes_."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the most probable class of each row, of shape (m,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]


def _whitening(deviations: Floats, weight: Floats, X: Floats) -> Floats:
    """Return W of shape (d, rank) with W W' = pseudo-inverse of the covariance.

    From the singular values of the deviations, so the covariance's condition number is
    never squared; each column is first scaled by its own deviation, so units do not
    decide what counts as no variation.
    """
    share = weight / weight.sum()
    deviation = np.sqrt(share @ deviations**2)
    rounding = len(X) * np.finfo(float).eps * np.abs(X).max(axis=0)
    varies = deviation > rounding
    if not varies.any():
        raise ValueError(
            "No class varies in any feature, so the covariance within classes is 0; "
            "it needs at least one class with two different rows."
        )
    scale = np.where(varies, deviation, np.inf)
    scaled = np.sqrt(share)[:, np.newaxis] * deviations / scale
    _, singular, directions = np.linalg.svd(scaled, full_matrices=False)
    kept = singular > singular[0] * np.sqrt(np.finfo(float).eps)
    return (directions[kept] / singular[kept, np.newaxis]).T / scale[:, np.newaxis]
