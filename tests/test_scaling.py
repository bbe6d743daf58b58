"""Powers of two: nothing is rounded, from the smallest floats to the largest."""

from __future__ import annotations

import numpy as np
import pytest

from mlbook.scaling import largest_exponent, scaled


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 0.3, 1.0, 1.7e308])
def test_scaled_is_exact_and_undone_by_the_exponent(unit):
    values = np.array([unit, -unit, 0.0])
    found = scaled(values)
    assert 0.5 <= np.abs(found).max() < 1
    np.testing.assert_array_equal(np.ldexp(found, largest_exponent(values)), values)


def test_zeros_columns_and_a_reference():
    assert scaled(np.zeros(3)).tolist() == [0, 0, 0]
    assert largest_exponent(np.array([[0.0, 4], [0, -9]]), axis=0).tolist() == [0, 4]
    assert scaled(np.array([3.0]), np.array([-8.0, 1.0])).tolist() == [3 / 16]
