"""Linear discriminant analysis against scikit-learn and the densities themselves."""

import numpy as np
import pytest
import sklearn.discriminant_analysis
from scipy.stats import multivariate_normal

from mlbook.generative.discriminant_analysis import LinearDiscriminantAnalysis

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], [10, 20, 30])
X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + np.eye(3)[y] * 2


def test_as_scikit_learn():
    theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr")
    expected = theirs.fit(X, y).predict_proba(X)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), expected, rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_as_bayes_rule_with_the_estimated_densities():
    model = LinearDiscriminantAnalysis().fit(X, y)
    covariance = np.cov((X - model.means_[y]).T, bias=True)
    joint = np.column_stack(
        [
            share * multivariate_normal(mean, covariance).pdf(X)
            for share, mean in zip([1 / 6, 1 / 3, 1 / 2], model.means_, strict=True)
        ]
    )
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-8)
    scalings = model.scalings_
    np.testing.assert_allclose(scalings @ scalings.T, np.linalg.inv(covariance))


def test_by_hand():
    """Classes at -1 and 1, equal shares, variance 1: P(1 | x) = 1 / (1 + exp(-2x))."""
    model = LinearDiscriminantAnalysis().fit([[-2.0], [0], [0], [2]], [0, 0, 1, 1])
    np.testing.assert_allclose(
        model.predict_proba([[0.5]]), [[1 / (1 + np.e), np.e / (1 + np.e)]]
    )


def test_far_away_points_are_certain_and_finite():
    model = LinearDiscriminantAnalysis().fit(X, y)
    far = np.array([[1e6, 0, 0], [-1e6, 1e5, 3]])
    assert np.isfinite(model.predict_log_proba(far)).all()
    np.testing.assert_allclose(model.predict_proba(far).max(axis=1), 1)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale):
    units = np.array([scale, 1.0, 1.0])
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_log_proba(X)
    scaled = LinearDiscriminantAnalysis().fit(X * units, y)
    np.testing.assert_allclose(
        scaled.predict_log_proba(X * units), expected, rtol=1e-6, atol=1e-9
    )


def test_a_direction_without_variation_is_ignored():
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.full(60, 0.1)])
    model = LinearDiscriminantAnalysis().fit(wide, y)
    np.testing.assert_allclose(model.predict_proba(wide), expected, rtol=1e-6)
    assert model.scalings_.shape == (5, 3)


def test_no_variation_at_all():
    with pytest.raises(ValueError, match="No class varies in any feature"):
        LinearDiscriminantAnalysis().fit([[1.0], [2.0]], [0, 1])
