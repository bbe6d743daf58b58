"""StandardScaler against scikit-learn's and on the inputs that have failed before."""

import numpy as np
import pytest
import sklearn.preprocessing

from mlbook.preprocessing import StandardScaler

X = np.random.default_rng(0).normal(3.0, [1.0, 1e-3, 1e4], size=(30, 3))
NEW = np.random.default_rng(1).normal(size=(4, 3))


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_as_scikit_learn(with_mean, with_std, weighted):
    weight = np.random.default_rng(2).uniform(0, 3, size=30) if weighted else None
    options = {"with_mean": with_mean, "with_std": with_std}
    ours = StandardScaler(**options).fit(X, sample_weight=weight)
    theirs = sklearn.preprocessing.StandardScaler(**options)
    theirs.fit(X, sample_weight=weight)
    np.testing.assert_allclose(ours.transform(NEW), theirs.transform(NEW), rtol=1e-10)
    back = ours.inverse_transform(ours.transform(NEW))
    np.testing.assert_allclose(back, NEW, rtol=1e-10, atol=1e-10)


def test_integers_are_not_truncated():
    """With mean 4 and standard deviation 3, [[5, 7]] is [[1/3, 1]], not [[0, 1]]."""
    scaler = StandardScaler().fit(np.array([[1, 1], [7, 7]]))
    assert (scaler.mean_.tolist(), scaler.scale_.tolist()) == ([4, 4], [3, 3])
    np.testing.assert_allclose(scaler.transform(np.array([[5, 7]])), [[1 / 3, 1]])


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 / 3, -1e-300])
def test_constant_column_is_only_centred(value):
    """Rounding in the mean must not be scaled up to a deviation of 1."""
    X = np.full((1013, 1), value)
    weight = np.random.default_rng(0).uniform(size=1013)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    atol = 1e-13 * max(abs(value), 1)
    np.testing.assert_allclose(scaler.transform(X), 0, atol=atol)
    assert scaler.scale_.tolist() == [1.0]


def test_one_row():
    assert StandardScaler().fit_transform([[3.0, -2.0]]).tolist() == [[0.0, 0.0]]


def test_scaled_columns_have_mean_0_and_deviation_1():
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
