"""The checks of numbers, counts and choices: what is returned, and what is said."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest

from mlbook.kernels.soft_margin_svm import SVC
from mlbook.linear.ridge import Ridge
from mlbook.validation import check_choice, check_integer, check_number


@pytest.mark.parametrize(
    "value", [2, 2.0, np.float16(2), np.int8(2), np.uint64(2), fractions.Fraction(2)]
)
def test_a_number_becomes_a_float(value):
    number = check_number("C", value, above=0)
    assert type(number) is float
    assert number == 2


def test_a_small_type_does_not_stay_small():
    assert check_number("sigma", np.float16(300)) ** 2 == 90_000


@pytest.mark.parametrize(
    ("limits", "value", "message"),
    [
        ({}, math.nan, "C must be finite, got nan"),
        ({}, -math.inf, "C must be finite, got -inf"),
        ({}, 10**400, "C must be finite, got 1000"),
        ({"low": 0}, -1, "C must be finite and >= 0, got -1"),
        ({"above": 0}, 0, "C must be finite and > 0, got 0"),
        ({"low": 0, "high": 1}, 1.5, "C must be finite and >= 0 and <= 1, got 1.5"),
        ({"low": 0, "below": 1}, 1, "C must be finite and >= 0 and < 1, got 1"),
    ],
)
def test_a_number_out_of_range(limits, value, message):
    with pytest.raises(ValueError, match=message):
        check_number("C", value, **limits)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1.0], np.ones(1)])
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match="C must be a number, got"):
        check_number("C", value)
    with pytest.raises(TypeError, match="C must be a whole number, got"):
        check_integer("C", value, low=0)


def test_the_limits_themselves_are_allowed_or_not():
    assert check_number("C", 0, low=0, high=0) == 0
    assert check_integer("k", 3, low=3, high=3) == 3
    for limits in ({"above": 0}, {"below": 0}):
        with pytest.raises(ValueError, match="got 0"):
            check_number("C", 0, **limits)


def test_a_count():
    assert type(check_integer("k", np.int8(3), low=1)) is int
    with pytest.raises(TypeError, match="k must be a whole number, got 3.0"):
        check_integer("k", 3.0, low=1)
    with pytest.raises(ValueError, match="k must be >= 1, got 0"):
        check_integer("k", 0, low=1)
    with pytest.raises(ValueError, match="k must be between 1 and 2, got 3"):
        check_integer("k", 3, low=1, high=2)


def test_a_choice():
    assert check_choice("criterion", "gini", ["gini", "entropy"]) == "gini"
    with pytest.raises(ValueError, match="must be one of 'gini', None, got 'ginni'"):
        check_choice("criterion", "ginni", ["gini", None])
    for value in (np.ones(2), True):
        with pytest.raises(ValueError, match="must be one of 1, 'all', got"):
            check_choice("max_features", value, [1, "all"])


def test_a_warning_points_at_the_callers_line():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    for fit in (
        lambda: SVC(max_iter=1).fit(X, y),
        lambda: Ridge().fit(X, y[:, np.newaxis]),
    ):
        with pytest.warns(UserWarning) as caught:
            fit()
        assert [w.filename for w in caught] == [__file__]
