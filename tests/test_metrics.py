"""R^2 against scikit-learn's, and where squares leave the range of floats."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mlbook.metrics import r_squared

RNG = np.random.default_rng(0)
Y, PREDICTION, WEIGHT = RNG.normal(size=50), RNG.normal(size=50), RNG.uniform(0, 3, 50)
WEIGHT[:9] = 0.0


def test_r_squared_is_scikit_learns():
    expected = r2_score(Y, PREDICTION, sample_weight=WEIGHT)
    assert r_squared(Y, PREDICTION, WEIGHT) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e170, 1e307])
@pytest.mark.parametrize("weight_unit", [1e-300, 1.0, 1e300])
def test_r_squared_has_no_unit(unit, weight_unit):
    expected = r_squared(Y, PREDICTION, WEIGHT)
    found = r_squared(unit * Y, unit * PREDICTION, weight_unit * WEIGHT)
    assert found == pytest.approx(expected, rel=1e-12)


def test_r_squared_at_the_ends_of_the_range_of_floats():
    y = np.array([-1.7e308, 1.7e308])
    assert r_squared(y, y, np.ones(2)) == 1
    assert r_squared(y, np.zeros(2), np.ones(2)) == 0
    assert r_squared(y, -y, np.ones(2)) == -3
    assert r_squared(np.array([1.0, 2.0]), np.full(2, 1e300), np.ones(2)) == -np.inf


def test_r_squared_of_a_constant_target():
    y = np.full(3, 0.1)
    assert r_squared(y, y, np.ones(3)) == 1
    assert r_squared(y, np.nextafter(y, 1), np.ones(3)) == 1  # rounded
    assert r_squared(y, y + 1e-9, np.ones(3)) == 0
    # a row of weight 0 has no say
    y[0] = 5.0
    assert r_squared(y, np.full(3, 0.1), np.array([0.0, 1, 1])) == 1
