"""The estimator contract: scikit-learn's protocol without scikit-learn.

An estimator subclasses ``Classifier``, ``Regressor`` or ``Transformer`` (or
``Estimator`` itself). Its ``__init__`` stores the parameters and does nothing else;
``fit`` validates first, then learns attributes whose names end in ``_``, and returns
self. That is all that scikit-learn's Pipeline, GridSearchCV, clone and displays need.

Validated data are float64 and read-only, so that no estimator can write into what its
caller passed. Rows of weight 0 are dropped before an estimator sees them. scikit-learn
is never imported here, except when scikit-learn itself asks for an estimator's tags;
its warnings and errors are used when it is loaded already.

Source: scikit-learn's developer guide, "Developing scikit-learn estimators".
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before ``fit``."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it met its tolerance."""


class DataConversionWarning(UserWarning):
    """Data arrived in another shape than expected and were converted."""


def _counterpart(own: type) -> type:
    """Return scikit-learn's class of that name if it is loaded, else our own."""
    return getattr(sys.modules.get("sklearn.exceptions"), own.__name__, own)


def warn_not_converged(message: str) -> None:
    """Warn that ``fit`` stopped early; say after how many iterations and what helps."""
    warnings.warn(message, _counterpart(ConvergenceWarning), stacklevel=3)


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


class Parameters:
    """What ``__init__`` stores: read, set and shown by name."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        if cls.__init__ is object.__init__:
            return {}
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in sorted(parameters, key=lambda p: p.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds those of nested estimators."""
        found: dict[str, Any] = {}
        for name in self._defaults():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                nested = value.get_params().items()
                found.update({f"{name}__{key}": inner for key, inner in nested})
        return found

    def set_params(self, **params: Any) -> Parameters:
        """Set parameters by name, nested ones as ``outer__inner``; return self."""
        valid = list(self._defaults())
        unknown = [key for key in params if key.partition("__")[0] not in valid]
        if unknown:
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for estimator {self}. "
                f"Valid parameters are: {valid!r}."
            )
        # An outer estimator may be replaced in the same call: it comes first.
        for key, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            name, _, inner = key.partition("__")
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if repr(getattr(self, name)) != repr(default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class Estimator(Parameters):
    """Parameters, tags and validation, which every estimator needs."""

    _estimator_type: str | None = None
    _allow_nan = False  # True in the trees that know what to do with missing values

    def __sklearn_tags__(self) -> Any:
        from sklearn import utils

        kind = self._estimator_type
        tags = utils.Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=utils.TargetTags(required=kind in ("classifier", "regressor")),
            input_tags=utils.InputTags(allow_nan=self._allow_nan),
        )
        if kind == "classifier":
            tags.classifier_tags = utils.ClassifierTags()
        if kind == "regressor":
            tags.regressor_tags = utils.RegressorTags()
        if hasattr(self, "transform"):
            tags.transformer_tags = utils.TransformerTags()
        return tags

    # Validation

    def _check_is_fitted(self) -> None:
        if not any(k.endswith("_") and not k.startswith("__") for k in vars(self)):
            raise _counterpart(NotFittedError)(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' "
                "with appropriate arguments before using this estimator."
            )

    def _check_fit_data(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return X of shape (n, d) and weights (n,) without the rows of weight 0.

        For estimators that take no target.
        """
        names, X = _feature_names(X), self._matrix(X)
        weight = check_sample_weight(sample_weight, len(X))
        self._remember(names, X)
        return _positive_rows(weight, X, weight)

    def _check_fit_data_and_target(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, NDArray[Any], Floats]:
        """Return X (n, d), y (n,) and weights (n,) without the rows of weight 0.

        A regressor's y is float64. A classifier's becomes ``classes_`` and an array of
        their positions there, 0, 1, ...
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        names, X = _feature_names(X), self._matrix(X)
        y = _vector(y)
        if len(y) != len(X):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{len(X)}, {len(y)}]"
            )
        y = _labels(y) if self._estimator_type == "classifier" else as_float(y, "y")
        weight = check_sample_weight(sample_weight, len(X))
        X, y, weight = _positive_rows(weight, X, y, weight)
        if self._estimator_type == "classifier":
            self.classes_, y = np.unique(y, return_inverse=True)
        self._remember(names, X)
        return X, y, weight

    def _check_new_data(self, X: ArrayLike) -> Floats:
        """Return X of shape (m, d) after comparing it with what ``fit`` saw."""
        self._check_is_fitted()
        self._compare_names(_feature_names(X))
        X = self._matrix(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _matrix(self, X: ArrayLike) -> Floats:
        X = as_float(X, "X", allow_nan=self._allow_nan)
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

    def _remember(self, names: NDArray[Any] | None, X: Floats) -> None:
        self.n_features_in_ = X.shape[1]
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _compare_names(self, new: NDArray[Any] | None) -> None:
        old = getattr(self, "feature_names_in_", None)
        name = type(self).__name__
        if new is None and old is None or new is not None and np.array_equal(new, old):
            return
        if new is None:
            message = f"X does not have valid feature names, but {name} was fitted with"
            warnings.warn(f"{message} feature names", UserWarning, stacklevel=4)
            return
        if old is None:
            message = f"X has feature names, but {name} was fitted without"
            warnings.warn(f"{message} feature names", UserWarning, stacklevel=4)
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


def _feature_names(X: Any) -> NDArray[Any] | None:
    """Return a data frame's column names when all are text; None for an array."""
    columns = list(getattr(X, "columns", []))
    are_text = [isinstance(column, str) for column in columns]
    if any(are_text) and not all(are_text):
        raise TypeError(
            "Feature names are only supported if all input features have string names; "
            "convert them with X.columns = X.columns.astype(str)."
        )
    return np.asarray(columns, dtype=object) if columns and all(are_text) else None


def _vector(y: ArrayLike) -> NDArray[Any]:
    if hasattr(y, "tocoo"):
        raise TypeError("Sparse y was passed, but dense data is required.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Change y to "
            "y.ravel().",
            _counterpart(DataConversionWarning),
            stacklevel=4,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {y.shape} instead."
        )
    return y


def _labels(y: NDArray[Any]) -> NDArray[Any]:
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


def _positive_rows(weight: Floats, *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    if weight.all():
        return arrays
    return tuple(array[weight > 0] for array in arrays)


def _check_score_target(y: ArrayLike, prediction: NDArray[Any]) -> NDArray[Any]:
    y = np.asarray(y)
    if y.shape != prediction.shape:
        raise ValueError(
            f"y must have the shape of the prediction, {prediction.shape}, got "
            f"{y.shape}."
        )
    return y


class Classifier(Estimator):
    """An estimator that predicts one of ``classes_``."""

    _estimator_type = "classifier"

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy: the (weighted) share of correct labels, in [0, 1]."""
        prediction = self.predict(X)
        correct = prediction == _check_score_target(y, prediction)
        weight = check_sample_weight(sample_weight, len(correct))
        return float(np.average(correct, weights=weight))


class Regressor(Estimator):
    """An estimator that predicts a number."""

    _estimator_type = "regressor"

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R^2 = 1 - (squared error) / (squared error of the mean of y).

        It lies in (-inf, 1]. A constant y has no variance to explain: then 1 for a
        perfect prediction and 0 otherwise.
        """
        prediction = self.predict(X)
        y = as_float(_check_score_target(y, prediction), "y")
        weight = check_sample_weight(sample_weight, len(y))
        error = np.average((y - prediction) ** 2, weights=weight)
        spread = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        if spread == 0:
            return float(error == 0)
        return float(1 - error / spread)


class Transformer(Estimator):
    """An estimator that maps X to new features."""

    _estimator_type = "transformer"

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> Floats:
        """Fit to X and return the transformed X, of shape (n, new features)."""
        return self.fit(X, y, **fit_params).transform(X)
