"""The estimator contract: scikit-learn's protocol without scikit-learn.

An estimator subclasses ``Classifier``, ``Regressor`` or ``Transformer`` (or
``Estimator`` itself). Its ``__init__`` stores the parameters and does nothing else;
``fit`` validates first, then learns attributes whose names end in ``_``, and returns
self. That is all that scikit-learn's Pipeline, GridSearchCV, clone and displays need.

Validated data are float64 and read-only, so that no estimator can write into what its
caller passed. Rows of weight 0 are dropped before an estimator sees them. A ``fit``
that raises leaves the estimator with what it had learnt before. scikit-learn is never
imported here, except when scikit-learn itself asks for an estimator's tags; its
warnings and errors are used when it is loaded already.

Source: scikit-learn's developer guide, "Developing scikit-learn estimators".
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.exceptions import NotFittedError, counterpart
from mlbook.metrics import r_squared
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    as_vector,
    check_labels,
    check_sample_weight,
    compare_feature_names,
    feature_names,
    positive_rows,
)


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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "fit" in vars(cls):
            cls.fit = _all_or_nothing(vars(cls)["fit"])

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
            raise counterpart(NotFittedError)(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' "
                "with appropriate arguments before using this estimator."
            )

    def _check_fit_data(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return X of shape (n, d) and weights (n,) without the rows of weight 0.

        For estimators that take no target.
        """
        names, X = feature_names(X), as_matrix(X, self._allow_nan)
        weight = check_sample_weight(sample_weight, len(X))
        self._remember(names, X)
        return positive_rows(weight, X, weight)

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
        names, X = feature_names(X), as_matrix(X, self._allow_nan)
        y = as_vector(y)
        if len(y) != len(X):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"[{len(X)}, {len(y)}]"
            )
        y = check_labels(y) if self._estimator_type == "classifier" else as_float(y, "y")
        weight = check_sample_weight(sample_weight, len(X))
        X, y, weight = positive_rows(weight, X, y, weight)
        if self._estimator_type == "classifier":
            self.classes_, y = np.unique(y, return_inverse=True)
        self._remember(names, X)
        return X, y, weight

    def _check_new_data(self, X: ArrayLike) -> Floats:
        """Return X of shape (m, d) after comparing it with what ``fit`` saw."""
        self._check_is_fitted()
        compare_feature_names(
            getattr(self, "feature_names_in_", None), feature_names(X),
            type(self).__name__,
        )
        X = as_matrix(X, self._allow_nan)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _remember(self, names: NDArray[Any] | None, X: Floats) -> None:
        self.n_features_in_ = X.shape[1]
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names


def _all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let a ``fit`` that raises leave the estimator as it was, with its old model."""

    @functools.wraps(fit)
    def guarded(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


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

        It lies in [-inf, 1]. A constant y has no variance to explain: then 1 for a
        perfect prediction and 0 otherwise.
        """
        prediction = self.predict(X)
        y = as_float(_check_score_target(y, prediction), "y")
        weight = check_sample_weight(sample_weight, len(y))
        return r_squared(y, prediction, weight)


class Transformer(Estimator):
    """An estimator that maps X to new features."""

    _estimator_type = "transformer"

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any
    ) -> Floats:
        """Fit to X and return the transformed X, of shape (n, new features)."""
        return self.fit(X, y, **fit_params).transform(X)
