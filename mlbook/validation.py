"""Checks of what callers pass: numbers, counts, arrays, weights, labels and names.

Every check returns the value in the form that the code works with (a float, an int, a
read-only float64 array) or raises TypeError for a wrong kind and ValueError for a wrong
value, with a message that names the argument and says what it must be.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.exceptions import DataConversionWarning, counterpart, warn

Floats = NDArray[np.float64]


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    above: float = -math.inf,
    high: float = math.inf,
    below: float = math.inf,
) -> float:
    """Return ``value`` as a finite float with low <= value <= high, above < it < below.

    Raises TypeError unless it is a real number (a bool is none), else ValueError.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # an int may be too large for a float
        number = math.inf
    if not (low <= number <= high and above < number < below):
        raise ValueError(
            f"{name} must be {_range(low, above, high, below)}, got {value!r}."
        )
    return number


def _range(low: float, above: float, high: float, below: float) -> str:
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">=", low), (">", above), ("<=", high), ("<", below))
        if math.isfinite(limit)
    ]
    return " and ".join(["finite", *limits])


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int with low <= value <= high.

    Raises TypeError unless it is a whole number (a bool is none), else ValueError.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < low or high is not None and value > high:
        limits = f">= {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {limits}, got {value!r}.")
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise TypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return ``value``, or raise ValueError unless it is one of ``choices``."""
    # an array compares elementwise, and True equals 1
    if isinstance(value, (bool, np.ndarray)) or value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")
    return value


def random_generator(random_state: Any = None) -> np.random.Generator:
    """Return the generator that ``fit`` draws from.

    An integer seeds a new generator, so every call gives the same numbers; a Generator
    is used as it is and moves on; None takes fresh entropy.
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "random_state must be None, a non-negative integer or a "
            f"numpy.random.Generator, got {random_state!r}."
        ) from None


def as_float(values: ArrayLike, name: str = "X", allow_nan: bool = False) -> Floats:
    """Return ``values`` as a read-only float64 array, without a copy where possible.

    Raises TypeError for sparse input, ValueError for complex numbers, text, dates,
    infinity and, unless ``allow_nan``, NaN.
    """
    if hasattr(values, "tocoo"):
        raise TypeError(
            f"Sparse {name} was passed, but dense data is required. Use "
            f"{name}.toarray() to convert to a dense array."
        )
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has {array.dtype}.")
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} must be numeric, got an array of {array.dtype}.")
    array = array.astype(np.float64, copy=False).view()
    if not np.isfinite(array).all():
        if np.isinf(array).any():
            raise ValueError(
                f"Input {name} contains infinity or a value too large for float64."
            )
        if not allow_nan:
            raise ValueError(f"Input {name} contains NaN.")
    array.flags.writeable = False
    return array


def as_matrix(X: ArrayLike, allow_nan: bool = False) -> Floats:
    """Return X as a read-only float64 matrix of at least one row and one column."""
    X = as_float(X, "X", allow_nan=allow_nan)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data "
            "using X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one "
            "sample."
        )
    for size, what in zip(X.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum "
                "of 1 is required."
            )
    return X


def check_sample_weight(sample_weight: ArrayLike | None, n_samples: int) -> Floats:
    """Return weights of shape (n_samples,): all 1 for None, else checked.

    Raises ValueError for another shape, a negative weight, or a sum of 0.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weight = as_float(sample_weight, "sample_weight")
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_samples,)}!"
        )
    if (weight < 0).any():
        raise ValueError("Negative values in sample_weight: weights must be >= 0.")
    if not weight.any():
        raise ValueError("All of sample_weight is zero: at least one must be > 0.")
    return weight


def feature_names(X: Any) -> NDArray[Any] | None:
    """Return a data frame's column names when all are text; None for an array."""
    columns = list(getattr(X, "columns", []))
    are_text = [isinstance(column, str) for column in columns]
    if any(are_text) and not all(are_text):
        raise TypeError(
            "Feature names are only supported if all input features have string names; "
            "convert them with X.columns = X.columns.astype(str)."
        )
    return np.asarray(columns, dtype=object) if columns and all(are_text) else None


def compare_feature_names(
    old: NDArray[Any] | None, new: NDArray[Any] | None, name: str
) -> None:
    """Compare the names at fit time with new ones for the estimator called ``name``."""
    if new is None and old is None or new is not None and np.array_equal(new, old):
        return
    if new is None:
        message = f"X does not have valid feature names, but {name} was fitted with"
        warn(f"{message} feature names")
        return
    if old is None:
        message = f"X has feature names, but {name} was fitted without"
        warn(f"{message} feature names")
        return
    message = "The feature names should match those that were passed during fit.\n"
    for title, extra in (
        ("Feature names unseen at fit time:\n", set(new) - set(old)),
        ("Feature names seen at fit time, yet now missing:\n", set(old) - set(new)),
    ):
        if extra:
            message += title + "".join(f"- {column}\n" for column in sorted(extra))
    if set(new) == set(old):
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def as_vector(y: ArrayLike) -> NDArray[Any]:
    """Return y as a vector; a single column is raveled with a warning."""
    if hasattr(y, "tocoo"):
        raise TypeError("Sparse y was passed, but dense data is required.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Change y to "
            "y.ravel().",
            counterpart(DataConversionWarning),
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {y.shape} instead."
        )
    return y


def check_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return y, or raise unless it holds discrete labels that can be sorted."""
    if y.dtype.kind in "fc" and (as_float(y, "y") != np.floor(y)).any():
        raise ValueError(
            "Unknown label type: continuous. A classifier needs discrete labels."
        )
    try:
        np.sort(y)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise TypeError(f"Labels must be sortable, got a mixture of {kinds}.") from None
    return y


def positive_rows(weight: Floats, *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the arrays without the rows whose weight is 0."""
    if weight.all():
        return arrays
    return tuple(array[weight > 0] for array in arrays)
