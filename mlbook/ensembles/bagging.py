"""Blending, stacking and bagging: several predictors that answer as one.

A *blend* is a weighted mean of predictors. Where its weights sum to 1, its error is the
same weighted mean of the members' errors, so with the matrix S of the errors' mean
products

    mean squared error of the blend = w'S w,  least for  w = S^-1 1 / (1'S^-1 1).

The errors must come from rows that the members have not seen: from a part of the data
that is kept apart (``LinearBlend``), or fold by fold (the stacks, which let any other
learner combine the members). *Bagging* averages copies of one learner, each fitted to
rows drawn with replacement. A row that a member did not draw is out of its bag.

Sources: Wolpert (1992) and Breiman (1996, "Stacked regressions") for stacking, Breiman
(1996, "Bagging predictors") for bagging, Wolfe (1976) for convex weights.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier, Estimator, Parameters, Regressor
from mlbook.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from mlbook.ensembles.random_forest import out_of_bag_average
from mlbook.ensembles.tree import Ints
from mlbook.exceptions import warn
from mlbook.generative.discriminant_analysis import LinearDiscriminantAnalysis
from mlbook.kernels.kernel_functions import Linear
from mlbook.kernels.kernel_logistic_regression import KernelLogisticRegression
from mlbook.linear.ridge import Ridge
from mlbook.metrics import r_squared
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    check_bool,
    check_choice,
    check_integer,
    check_number,
    check_sample_weight,
    random_generator,
)

WEIGHTS = ("free", "sum_to_one", "convex")
ROUNDING = 1e-12  # a difference of this share of the numbers compared is rounding

Members = Sequence[tuple[str, Any]]
Folds = Sequence[tuple[Ints, Ints]]


# Weights


def affine_weights(errors: ArrayLike) -> Floats:
    """Return the w of sum 1 for which |errors w| is least, shape (T,).

    ``errors`` has shape (n, T), a column for each member. Of several minima the one
    nearest to equal weights (which is the shortest). Members' errors may differ in size
    by a factor of 1e10; beyond, rounding of the largest decides.
    """
    D = as_matrix(errors)
    D = D / (np.abs(D).max() or 1.0)  # lengths must not leave the range of floats
    T = D.shape[1]
    equal = np.full(T, 1 / T)
    # orthogonal directions that leave the sum as it is
    sideways = np.linalg.qr(np.ones((T, 1)), mode="complete")[0][:, 1:]
    if T == 1:
        return equal
    U, lengths, Vt = np.linalg.svd(D @ sideways, full_matrices=False)
    # what is small beside D itself is rounding, as for members that are copies
    kept = lengths > np.finfo(float).eps * max(D.shape) * np.abs(D).max()
    step = Vt[kept].T @ ((U.T @ (D @ equal))[kept] / lengths[kept])
    w = equal - sideways @ step
    return w / w.sum()


def convex_weights(errors: ArrayLike) -> Floats:
    """Return the w >= 0 of sum 1 for which |errors w| is least, shape (T,).

    The columns of ``errors``, of shape (n, T), are the corners of a polytope, and
    errors w is its point nearest to 0. Wolfe's method: while a corner lies on the near
    side of the present point, take it in, and go to the nearest point of the flat
    through the corners in use, or as far as no weight becomes negative. Members' errors
    may differ in size by a factor of 1e10; beyond, rounding of the largest decides.
    """
    D = as_matrix(errors)
    D = D / (np.abs(D).max() or 1.0)  # squares must not leave the range of floats
    length = np.linalg.norm(D, axis=0)
    w = np.zeros(D.shape[1])
    w[length.argmin()] = 1.0
    while True:
        point = D @ w
        distance = np.linalg.norm(point)
        if distance <= np.finfo(float).eps * length[w > 0].max():
            return w  # 0 but for rounding
        # how far each corner lies on the near side, beside its own length: one member
        # with huge errors must not hide what the others can gain
        ahead = (distance**2 - point @ D) / length
        ahead[w > 0] = 0.0
        new = int(ahead.argmax())
        if ahead[new] <= ROUNDING * distance:
            return w
        better = _to_nearest_point(D, w, new)
        if np.linalg.norm(D @ better) >= distance:
            return w  # rounding is all that is left
        w = better


def _to_nearest_point(D: Floats, w: Floats, new: int) -> Floats:
    used = w > 0
    used[new] = True
    while True:
        goal = np.zeros_like(w)
        goal[used] = affine_weights(D[:, used])
        low = used & (goal <= 0)
        if not low.any():
            return goal
        share = np.where(low, w / np.where(w > goal, w - goal, 1.0), np.inf)
        first = int(share.argmin())  # the first weight that meets 0 on the way
        w = np.maximum(w + share[first] * (goal - w), 0.0)
        w[first] = 0.0
        used = w > 0


def minimum_variance_weights(
    covariance: ArrayLike, nonnegative: bool = False
) -> Floats:
    """Return the w of sum 1 for which w'S w is least, shape (T,).

    For a positive definite S = ``covariance``, shape (T, T), it is
    S^-1 1 / (1'S^-1 1). With ``nonnegative`` only w >= 0 are compared. Raises
    ValueError unless S is symmetric and positive semi-definite.
    """
    S = as_matrix(covariance)
    nonnegative = check_bool("nonnegative", nonnegative)
    half = S / 2  # no sum of two of its entries overflows, nor a difference
    if S.shape[0] != S.shape[1] or (
            np.abs(half - half.T).max() > 1e-10 * np.abs(half).max()):
        raise ValueError("covariance must be a symmetric matrix.")
    # each member in units of its own error: what is rounding depends on no other
    size = np.sqrt(np.abs(np.diag(S)))
    size[size == 0] = 1.0
    values, vectors = np.linalg.eigh((half + half.T) / size / size[:, np.newaxis])
    if values[0] < -1e-10 * abs(values).max():
        raise ValueError("covariance must be positive semi-definite. With variances "
                         f"scaled to 1 its smallest eigenvalue is {values[0]:.3g}.")
    values[values <= np.finfo(float).eps * len(S) * values.max()] = 0.0  # rounding
    root = np.sqrt(values)[:, np.newaxis] * vectors.T * size  # root'root = S
    return convex_weights(root) if nonnegative else affine_weights(root)


def blend_weights(
    predictions: ArrayLike,
    y: ArrayLike,
    weights: str = "free",
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return the weights of a blend by least squares, shape (T,), without an intercept.

    With a sum of 1 members' errors may differ in size by a factor of 1e10; beyond,
    rounding of the largest decides.

    Parameters
    ----------
    predictions : array of shape (n, T), for rows that the members have not seen
    y : array of shape (n,)
    weights : "free"; "sum_to_one", for which an offset that all members and y share has
        no effect; or "convex", which are also >= 0, so that the blend stays between
        its members
    sample_weight : array of shape (n,), optional
    """
    P, y = as_matrix(predictions), as_float(y, "y")
    check_choice("weights", weights, WEIGHTS)
    if y.shape != (len(P),):
        raise ValueError(f"y must have the shape {(len(P),)}, got {y.shape}.")
    root = np.sqrt(check_sample_weight(sample_weight, len(P)))[:, np.newaxis]
    # differences must not overflow
    unit = max(np.abs(P).max(), np.abs(y).max()) or 1.0
    P, y = P / unit, y / unit
    if weights == "free":
        # beside y no column is large: a member that diverges must not hide the others
        size = np.maximum(np.abs(P).max(axis=0) / max(np.abs(y).max(), 1e-300), 1.0)
        P = P / size
        return np.linalg.lstsq(root * P, root[:, 0] * y, rcond=None)[0] / size
    errors = root * (y[:, np.newaxis] - P)
    return convex_weights(errors) if weights == "convex" else affine_weights(errors)


# Members


def check_estimator(name: str, value: Any) -> Any:
    """Return ``value``, or raise TypeError unless it is an estimator (not its class)."""
    if isinstance(value, type) or not (
            hasattr(value, "fit") and hasattr(value, "get_params")):
        raise TypeError(f"{name} must be an estimator with fit and get_params, such as "
                        f"Ridge(), got {value!r}.")
    return value


def check_kind(name: str, value: Any, wanted: str) -> Any:
    """Return ``value``, or raise unless it is an estimator that may be what is wanted.

    ``wanted`` is "regressor" or "classifier". Raises TypeError for what is no estimator,
    and ValueError for one that is known to be of another kind or does not predict.
    """
    check_estimator(name, value)
    kind = getattr(value, "_estimator_type", None)  # ours; scikit-learn's have tags
    if kind is None and hasattr(value, "__sklearn_tags__"):
        kind = value.__sklearn_tags__().estimator_type
    if kind not in (None, wanted):
        raise ValueError(f"{name} must be a {wanted}, got the {kind} "
                         f"{type(value).__name__}.")
    if not hasattr(value, "predict"):
        raise ValueError(f"{name} must be a {wanted}, and {type(value).__name__} has no "
                         "predict.")
    return value


def fresh_copy(estimator: Any, rng: np.random.Generator | None = None) -> Any:
    """Return an unfitted estimator with the same parameters, those of parts copied too.

    With ``rng`` everything called random_state in it is a new integer.
    """
    check_estimator("estimator", estimator)
    parameters = estimator.get_params(deep=False)
    twin = type(estimator)(**{k: _copied(v) for k, v in parameters.items()})
    if rng is not None:
        dice = [key for key in sorted(twin.get_params())
                if key.rpartition("__")[2] == "random_state"]
        if dice:
            twin.set_params(**{key: int(rng.integers(2**31 - 1)) for key in dice})
    return twin


def _copied(value: Any) -> Any:
    if inspect.isgenerator(value):
        raise TypeError("A generator gives its values only once, and an estimator that "
                        "holds it cannot be copied: as cv, pass a list of folds.")
    if type(value) in (list, tuple):  # it may hold estimators, as that of a team does
        return type(value)(_copied(part) for part in value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return fresh_copy(value)
    return copy.deepcopy(value)


def fit_copy(
    estimator: Any, X: Floats, y: NDArray[Any], weight: Floats,
    rng: np.random.Generator | None = None,
) -> Any:
    """Return a fitted copy; it is told of weights only where one of them is not 1.

    Raises ValueError if it must be told of them and takes none.
    """
    model = fresh_copy(estimator, rng)
    if (weight == 1).all():
        return model.fit(X, y)
    if not takes_weights(model):
        raise ValueError(f"{type(model).__name__}, or a part of it, takes no "
                         "sample_weight: fit without weights, or repeat rows.")
    return model.fit(X, y, sample_weight=weight)


def takes_weights(estimator: Any) -> bool:
    """Return whether ``fit`` has a parameter sample_weight, and those of parts too."""
    parts = estimator._given_weights() if isinstance(estimator, (_Team, _Bag)) else []
    return "sample_weight" in inspect.signature(estimator.fit).parameters \
        and all(map(takes_weights, parts))


def predicted(model: Any, X: Floats) -> Floats:
    """Return what a regressor predicts, shape (m, 1).

    Raises ValueError unless it is one finite number for each row.
    """
    said = _one_for_each_row(model, model.predict(X), len(X))
    return _finite(model, said, "prediction").reshape(-1, 1)


def _one_for_each_row(model: Any, said: ArrayLike, m: int) -> NDArray[Any]:
    """Return m answers as a vector, also those of a model that gives a column."""
    said = np.asarray(said)
    if said.shape not in ((m,), (m, 1)):
        raise ValueError(f"{type(model).__name__} must predict one value for each row, "
                         f"got the shape {said.shape} for {m} rows.")
    return said.reshape(m)


def _finite(model: Any, said: ArrayLike, what: str) -> Floats:
    try:
        return as_float(said, what)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{type(model).__name__} must answer with finite numbers. "
                         f"{error}") from error


def class_shares(model: Any, X: Floats, n_classes: int) -> Floats:
    """Return probabilities, or votes where a model has none, shape (m, n_classes).

    The model's classes are among 0, ..., n_classes - 1; one it has not met gets 0.
    Raises ValueError for other classes, such as a regressor's predictions, and unless
    there is one vote, or a number >= 0 for each of the model's classes, in every row.
    """
    m, shares = len(X), np.zeros((len(X), n_classes))
    if not hasattr(model, "predict_proba"):
        votes = _one_for_each_row(model, model.predict(X), m)
        shares[np.arange(m), _class_numbers(model, votes, n_classes)] = 1.0
        return shares
    known = _class_numbers(model, model.classes_, n_classes)
    said = _finite(model, model.predict_proba(X), "predict_proba")
    if said.shape != (m, len(known)) or said.min() < -ROUNDING:
        raise ValueError(f"{type(model).__name__} must give probabilities >= 0 of the "
                         f"shape {(m, len(known))}, got {said.shape}, from "
                         f"{said.min(initial=0.0):.3g}.")
    shares[:, known] = said
    return shares


def _class_numbers(model: Any, classes: ArrayLike, n_classes: int) -> Ints:
    """Return classes as row numbers of a table, none of them rounded to be one."""
    if not np.isin(classes, np.arange(n_classes)).all():
        raise ValueError(
            f"{type(model).__name__} must be a classifier: it was fitted to the labels "
            f"0, ..., {n_classes - 1} and answers with other numbers.")
    return np.asarray(classes, dtype=np.intp)


def accepts_nan(estimator: Any) -> bool:
    """Return whether an estimator, ours or scikit-learn's, takes missing values."""
    if isinstance(estimator, Parameters):
        return bool(getattr(estimator, "_allow_nan", False))
    tags = getattr(estimator, "__sklearn_tags__", None)
    return bool(tags and tags().input_tags.allow_nan)


# Folds


def k_fold(n: int, n_folds: int, random_state: Any = None) -> list[tuple[Ints, Ints]]:
    """Return the rows to train on and to predict, for each of n_folds folds of n rows.

    The folds are runs of neighbouring rows, as in scikit-learn, unless ``random_state``
    is given: then the rows are shuffled first.
    """
    n, n_folds = check_integer("n", n, low=0), check_integer("n_folds", n_folds, low=2)
    if n < n_folds:
        raise ValueError(f"{n_folds} folds need as many rows, got n_samples={n}.")
    order = np.arange(n)
    if random_state is not None:
        order = random_generator(random_state).permutation(n)
    fold = np.empty(n, dtype=np.intp)
    for k, part in enumerate(np.array_split(order, n_folds)):
        fold[part] = k
    return _splits(fold, n_folds)


def stratified_k_fold(codes: Ints, n_folds: int) -> list[tuple[Ints, Ints]]:
    """Return folds with nearly the same number of rows of each class in all of them.

    ``codes`` are the classes 0, 1, ... in the order of their first rows. The rows of a
    class go to the folds in runs, as in scikit-learn's StratifiedKFold.
    """
    n_folds, codes = check_integer("n_folds", n_folds, low=2), np.asarray(codes)
    if codes.ndim != 1 or (codes.size and (
            codes.dtype.kind not in "iu" or codes.min() < 0)):
        raise ValueError("codes must be a vector of whole numbers >= 0.")
    if len(codes) < n_folds:
        raise ValueError(f"{n_folds} folds need as many rows, got "
                         f"n_samples={len(codes)}.")
    in_order = np.sort(codes)
    fold = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        sizes = [np.count_nonzero(in_order[k::n_folds] == code) for k in range(n_folds)]
        fold[codes == code] = np.repeat(np.arange(n_folds), sizes)
    return _splits(fold, n_folds)


def _splits(fold: Ints, n_folds: int) -> list[tuple[Ints, Ints]]:
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k))
            for k in range(n_folds)]


def check_folds(folds: Iterable[Any], n: int) -> list[tuple[Ints, Ints]]:
    """Return the folds as a list of arrays; each row must be predicted exactly once.

    A fold that predicts no row is left out. Raises ValueError also where a row is
    trained on and predicted in the same fold, and where none is trained on.
    """
    checked = []
    for fold in folds:
        if not hasattr(fold, "__len__") or len(fold) != 2:
            raise ValueError("Each fold must be a pair: rows to train on and rows to "
                             f"predict, got {fold!r}.")
        train, test = (_row_numbers(rows, n) for rows in fold)
        if len(test):
            checked.append((train, test))
    if not checked:
        raise ValueError("There are no folds. A generator gives them only once: pass a "
                         "list.")
    predicted_rows = np.concatenate([test for _, test in checked])
    if not np.array_equal(np.sort(predicted_rows), np.arange(n)):
        raise ValueError(f"The folds must predict each of the {n} rows once. (Rows of "
                         "weight 0 are not counted.)")
    if any(np.intersect1d(train, test).size for train, test in checked):
        raise ValueError("A row must not be trained on in the fold that predicts it.")
    if not all(len(train) for train, _ in checked):
        raise ValueError("Every fold needs rows to train on.")
    return checked


def _row_numbers(rows: ArrayLike, n: int) -> Ints:
    rows = np.asarray(rows)
    if rows.ndim != 1 or (rows.size and (
            rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n)):
        raise ValueError("The rows of a fold must be a vector of whole numbers from 0 "
                         f"to {n - 1}. (Rows of weight 0 are not counted.)")
    return rows.astype(np.intp)


def out_of_fold(
    estimators: Sequence[Any], X: Floats, y: NDArray[Any], folds: Iterable[Any],
    sample_weight: ArrayLike | None = None,
    outputs: Callable[[Any, Floats], Floats] = predicted,
) -> Floats:
    """Return what each estimator says of rows it was not fitted on, side by side.

    For each fold copies are fitted to its training rows and say something of the
    others: ``outputs(model, X)``, of shape (m, k), by default their predictions with
    k = 1. The columns are those of the T estimators in turn, so the shape is (n, T)
    by default.
    """
    X, y = as_matrix(X, allow_nan=True), np.asarray(y)
    if not len(estimators) or y.shape != (len(X),):
        raise ValueError("There must be at least one estimator, and y must have the "
                         f"shape {(len(X),)}, got {y.shape}.")
    weight = check_sample_weight(sample_weight, len(X))
    P = None
    for train, test in check_folds(folds, len(X)):
        models = [fit_copy(estimator, X[train], y[train], weight[train])
                  for estimator in estimators]
        said = np.hstack([outputs(model, X[test]) for model in models])
        P = np.empty((len(X), said.shape[1])) if P is None else P
        P[test] = said
    return P


# Blends and stacks


class _Team(Estimator):
    """A list of named estimators, whose parameters are reached as name__parameter."""

    estimators: Members | None

    def _given_weights(self) -> list[Any]:
        """Return the estimators that are handed the weights."""
        return self._members()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` adds the members and theirs."""
        found = super().get_params(deep)
        if deep:
            for name, member in _named(self.estimators).items():
                found[name] = member
                found |= {f"{name}__{k}": v for k, v in member.get_params().items()}
        return found

    def set_params(self, **params: Any) -> _Team:
        """Set parameters, members by their names, and theirs as name__parameter."""
        names = dict(_pairs(params.get("estimators", self.estimators)))
        of_team = [key for key in params if key.partition("__")[0] in names
                   and key.partition("__")[0] not in self._defaults()]
        values = {key: params.pop(key) for key in of_team}
        members = {key: value for key, value in values.items() if key in names}
        super().set_params(**params)
        if members:  # whatever else is in the list stays there, for fit to judge
            self.estimators = [_with_member(entry, members) for entry in self.estimators]
        team = _named(self.estimators)
        inner = sorted(values.keys() - members.keys())
        for key in sorted(inner, key=lambda key: key.count("__")):
            name, _, parameter = key.partition("__")
            if name not in team:
                raise ValueError(f"Invalid parameter {key!r}: the member {name!r} is no "
                                 "estimator.")
            team[name].set_params(**{parameter: values[key]})
        return self

    def _default_members(self) -> Members:
        return [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]

    def _members(self) -> list[Any]:
        """Return the estimators after a check of their names."""
        if self.estimators is None:
            return [member for _, member in self._default_members()]
        pairs = _pairs(self.estimators)
        team = dict(pairs)
        if not team or not len(team) == len(pairs) == len(self.estimators):
            raise ValueError("estimators must be a list of pairs (name, estimator), with "
                             "at least one of them and each name used once.")
        taken = sorted({*self._defaults(), "random_state"})  # dice are found by name
        if any("__" in name or name in taken for name in team):
            raise ValueError("The names of estimators must not contain '__' nor be one "
                             f"of {taken}, got {list(team)}.")
        return [check_kind(f"The member {name!r}", member, self._estimator_type)
                for name, member in pairs]


def _pairs(estimators: Any) -> list[tuple[str, Any]]:
    """Return those entries of a list that are pairs of a name and something."""
    entries = estimators if isinstance(estimators, (list, tuple)) else []
    return [(entry[0], entry[1]) for entry in entries
            if isinstance(entry, (list, tuple)) and len(entry) == 2
            and isinstance(entry[0], str)]


def _with_member(entry: Any, members: dict[str, Any]) -> Any:
    """Return an entry of a team's list, with another member if its name has one."""
    named = _pairs([entry])
    if named and entry[0] in members:
        return entry[0], members[entry[0]]
    return entry


def _named(estimators: Any) -> dict[str, Any]:
    """Return the members by name; none where that is no list of pairs (yet)."""
    return {name: member for name, member in _pairs(estimators)
            if hasattr(member, "get_params") and not isinstance(member, type)}


class UniformBlend(_Team, Regressor):
    """The mean of several regressors.

    X must have no missing values, even where all members take them.

    Parameters
    ----------
    estimators : list of (name, estimator); by default a ridge regression and a tree of
        depth 3, which have no names to be reached by

    Attributes
    ----------
    estimators_ : list of T fitted copies
    weights_ : ndarray of shape (T,), each 1 / T
    """

    def __init__(self, estimators: Members | None = None) -> None:
        self.estimators = estimators

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> UniformBlend:
        """Fit the members to X of shape (n, d) and y of shape (n,); return self."""
        members = self._members()
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        self.estimators_ = [fit_copy(member, X, y, weight) for member in members]
        self.weights_ = np.full(len(members), 1 / len(members))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the weighted sum of the members' predictions, shape (m,).

        Raises ValueError where it is too large for a float.
        """
        X = self._check_new_data(X)
        with np.errstate(over="ignore", invalid="ignore"):
            said = sum(w * predicted(model, X)[:, 0]
                       for w, model in zip(self.weights_, self.estimators_, strict=True))
        return _finite(self, said, "prediction")


class LinearBlend(UniformBlend):
    """A weighted sum of regressors, with weights fitted to rows kept apart for them.

    A part of the rows is drawn at random. The members are fitted to the others, and
    ``blend_weights`` to what they predict for that part. Then the members are fitted
    anew to all rows, and the weights stay. X must have no missing values, even where all
    members take them.

    Parameters
    ----------
    estimators : list of (name, estimator); by default a ridge regression and a tree of
        depth 3, which have no names to be reached by
    weights : "free", "sum_to_one" or "convex", see ``blend_weights``
    validation_fraction : float in (0, 1), share of the rows for the weights; at least
        one row, and at least one is left for the members
    random_state : None, int or Generator, for the draw of these rows

    Attributes
    ----------
    estimators_ : list of T fitted copies
    weights_ : ndarray of shape (T,)
    """

    def __init__(
        self,
        estimators: Members | None = None,
        weights: str = "free",
        validation_fraction: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LinearBlend:
        """Fit to X of shape (n, d) and y of shape (n,), n >= 2; return self."""
        check_choice("weights", self.weights, WEIGHTS)
        share = check_number(
            "validation_fraction", self.validation_fraction, above=0, below=1)
        members, rng = self._members(), random_generator(self.random_state)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        n = len(X)
        if n < 2:
            raise ValueError("LinearBlend needs at least 2 rows, got n_samples=1.")
        size = min(max(1, round(share * n)), n - 1)
        order = rng.permutation(n)
        apart, rest = np.sort(order[:size]), np.sort(order[size:])
        P = np.hstack([
            predicted(fit_copy(member, X[rest], y[rest], weight[rest]), X[apart])
            for member in members])
        self.weights_ = blend_weights(P, y[apart], self.weights, weight[apart])
        self.estimators_ = [fit_copy(member, X, y, weight) for member in members]
        return self


class _Stack(_Team):
    """What both stacks share: a learner on the members' out-of-fold outputs."""

    def __init__(
        self,
        estimators: Members | None = None,
        final_estimator: Any = None,
        cv: Any = 5,
        passthrough: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.passthrough = passthrough

    def _fit(self, X: Floats, y: NDArray[Any], weight: Floats) -> None:
        passthrough = check_bool("passthrough", self.passthrough)
        members, final = self._members(), self._final()
        folds = check_folds(self._folds(X, y), len(X))
        self._check_training_parts(y, folds)
        features = out_of_fold(members, X, y, folds, weight, self._outputs)
        if passthrough:
            features = np.hstack([features, X])
        self.final_estimator_ = fit_copy(final, features, y, weight)
        self.estimators_ = [fit_copy(member, X, y, weight) for member in members]
        self._passes_through = passthrough

    def _final(self) -> Any:
        if self.final_estimator is None:
            return self._default_final()
        return check_kind("final_estimator", self.final_estimator, self._estimator_type)

    def _given_weights(self) -> list[Any]:
        return [*self._members(), self._final()]

    def _folds(self, X: Floats, y: NDArray[Any]) -> Iterable[Any]:
        cv = self.cv
        if cv is None or isinstance(cv, (str, type)):
            raise TypeError("cv must be a whole number, a list of pairs (rows to train "
                            "on, rows to predict) or an object with split(X, y), got "
                            f"{cv!r}.")
        if hasattr(cv, "split"):
            return cv.split(X, y)
        if isinstance(cv, Iterable):
            return cv
        return self._own_folds(y, check_integer("cv", cv, low=2))

    def final_features(self, X: ArrayLike) -> Floats:
        """Return what the final estimator is told about X: a row for each row of X."""
        X = self._check_new_data(X)
        parts = [self._outputs(model, X) for model in self.estimators_]
        return np.hstack([*parts, X] if self._passes_through else parts)

    def _own_folds(self, y: NDArray[Any], n_folds: int) -> Folds:
        raise NotImplementedError

    def _check_training_parts(self, y: NDArray[Any], folds: Folds) -> None:
        """Raise ValueError if a fold has too little to train on; else do nothing."""

    def _default_final(self) -> Any:
        raise NotImplementedError

    def _outputs(self, model: Any, X: Floats) -> Floats:
        raise NotImplementedError


class StackingRegressor(_Stack, Regressor):
    """A regressor that is fitted to the out-of-fold predictions of others.

    X must have no missing values, even where all members take them.

    Parameters
    ----------
    estimators : list of (name, estimator); by default a ridge regression and a tree of
        depth 3, which have no names to be reached by
    final_estimator : regressor; by default least squares with an intercept. (A penalty
        would be in squared units of y.)
    cv : int >= 2, number of folds, which are runs of neighbouring rows; or a list of
        pairs (rows to train on, rows to predict), such as ``k_fold`` returns, or an
        object with ``split(X, y)``. Rows of weight 0 are not counted
    passthrough : bool, whether the final estimator also gets X

    Attributes
    ----------
    estimators_ : list of T copies, fitted to all rows
    final_estimator_ : the fitted copy of the final estimator
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> StackingRegressor:
        """Fit to X of shape (n, d) and y of shape (n,); return self."""
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        self._fit(X, y, weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the predictions for X, shape (m,)."""
        features = self.final_features(X)
        return predicted(self.final_estimator_, features)[:, 0]

    def _own_folds(self, y: NDArray[Any], n_folds: int) -> Folds:
        return k_fold(len(y), n_folds)

    def _default_final(self) -> Any:
        return Ridge(alpha=0.0)

    def _outputs(self, model: Any, X: Floats) -> Floats:
        return predicted(model, X)


class StackingClassifier(_Stack, Classifier):
    """A classifier that is fitted to the out-of-fold probabilities of others.

    X must have no missing values, even where all members take them.

    Parameters
    ----------
    estimators : list of (name, estimator); by default a linear discriminant analysis
        and a tree of depth 3, which have no names to be reached by. Of a member's
        probabilities the first is left out where there are two classes; without
        ``predict_proba`` it is asked for ``decision_function``, and otherwise for its
        votes, 0 or 1 for each class
    final_estimator : classifier; by default ``LinearLogistic``
    cv : as in ``StackingRegressor``, but an int makes folds with about the same number
        of rows of each class
    passthrough : bool, whether the final estimator also gets X

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of T copies, fitted to all rows with the labels 0, ..., K - 1
    final_estimator_ : the fitted copy of the final estimator, with these labels
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> StackingClassifier:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        Raises ValueError for one class, for a member or a final estimator that is known
        to be no classifier, and where a fold leaves out a whole class.
        """
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if len(self.classes_) < 2:
            raise ValueError("StackingClassifier needs at least 2 classes, got one "
                             f"class: {self.classes_[0]}.")
        self._fit(X, codes, weight)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, shape (m, K).

        It is 0 or 1, by its vote, if the final estimator gives no probabilities.
        """
        features = self.final_features(X)
        return class_shares(self.final_estimator_, features, len(self.classes_))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class that the final estimator predicts, shape (m,)."""
        features = self.final_features(X)
        final, K = self.final_estimator_, len(self.classes_)
        said = _one_for_each_row(final, final.predict(features), len(features))
        return self.classes_[_class_numbers(final, said, K)]

    def _own_folds(self, y: NDArray[Any], n_folds: int) -> Folds:
        # scikit-learn numbers the classes as they come, which decides who gets the rest
        first = np.unique(y, return_index=True)[1]
        return stratified_k_fold(np.argsort(np.argsort(first))[y], n_folds)

    def _check_training_parts(self, y: NDArray[Any], folds: Folds) -> None:
        for train, _ in folds:
            missing = np.setdiff1d(y, y[train])
            if len(missing):
                raise ValueError(
                    f"Class {self.classes_[missing[0]]} has no row to train on in one of "
                    "the folds: it needs at least 2 rows, in different folds.")

    def _default_members(self) -> Members:
        return [("discriminant", LinearDiscriminantAnalysis()),
                ("tree", DecisionTreeClassifier(max_depth=3))]

    def _default_final(self) -> Any:
        return LinearLogistic()

    def _outputs(self, model: Any, X: Floats) -> Floats:
        K = len(self.classes_)
        if not hasattr(model, "predict_proba") and hasattr(model, "decision_function"):
            said = _finite(model, model.decision_function(X), "decision_function")
            if said.ndim not in (1, 2) or len(said) != len(X):
                raise ValueError(f"{type(model).__name__} must decide on each of the "
                                 f"{len(X)} rows, got the shape {said.shape}.")
            return said.reshape(len(X), -1)
        shares = class_shares(model, X, K)
        return shares[:, 1:] if K == 2 else shares


class LinearLogistic(Classifier):
    """Logistic regression; for more than two classes one machine for each of them.

    Each is a ``KernelLogisticRegression`` with the linear kernel, which tells one class
    from the rest. Its memory grows with the square of the number of rows: for very many
    rows give the stack another final estimator.

    Parameters
    ----------
    C : float > 0, weight of the log-loss against half the squared coefficients

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    machines_ : list of fitted KernelLogisticRegression, one for two classes, else K
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LinearLogistic:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self."""
        check_number("C", self.C, above=0)
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        K = len(self.classes_)
        if K < 2:
            raise ValueError("LinearLogistic needs at least 2 classes, got one class: "
                             f"{self.classes_[0]}. (In a bag, a draw may have missed "
                             "the others; a tree can be fitted all the same.)")
        self.machines_ = [
            KernelLogisticRegression(self.C, Linear()).fit(X, codes == k, weight)
            for k in (range(K) if K > 2 else [1])]
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities, those of K > 2 machines over their sum, (m, K)."""
        X = self._check_new_data(X)
        if len(self.machines_) == 1:
            return self.machines_[0].predict_proba(X)
        odds = np.column_stack([q.decision_function(X) for q in self.machines_])
        logs = -np.logaddexp(0, -odds)  # far out all the probabilities underflow
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row, shape (m,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


# Bagging


def drawn_share(n: int, size: int) -> float:
    """Return the expected share of n rows that ``size`` draws with replacement meet."""
    n, size = check_integer("n", n, low=1), check_integer("size", size, low=0)
    return -math.expm1(size * math.log1p(-1 / n)) if n > 1 else float(size > 0)


def draw_rows(
    rng: np.random.Generator, n: int, size: int, bootstrap: bool,
    chance: Floats | None = None,
) -> Ints:
    """Return ``size`` of n rows, with replacement if ``bootstrap``, shape (size,).

    ``chance``, shape (n,), holds the probabilities of the rows; None: all alike, as
    they must be without ``bootstrap``, where also size <= n.
    """
    n, rng = check_integer("n", n, low=1), random_generator(rng)
    size = check_integer("size", size, low=0, high=None if bootstrap else n)
    if not bootstrap:
        if chance is not None:
            raise ValueError("chance must be None unless bootstrap=True.")
        return rng.permutation(n)[:size]
    if chance is None:
        return rng.integers(0, n, size=size)
    return rng.choice(n, size=size, p=chance)


class _Bag(Estimator):
    """What both bags share: the draws, the fits and the rows out of the bag."""

    _default_estimator: type

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        max_samples: int | float = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.random_state = random_state

    @property
    def _allow_nan(self) -> bool:
        return accepts_nan(self._member())

    def _member(self) -> Any:
        if self.estimator is None:
            return self._default_estimator()
        return check_estimator("estimator", self.estimator)

    def _given_weights(self) -> list[Any]:
        """Return the estimators that are handed weights; the bootstrap draws by them."""
        return [] if self.bootstrap else [self._member()]

    def _fit(self, X: Floats, target: NDArray[Any], weight: Floats) -> None:
        check_kind("estimator", self._member(), self._estimator_type)
        B = check_integer("n_estimators", self.n_estimators, low=1)
        self._bootstrapped = check_bool("bootstrap", self.bootstrap)
        self._n_rows = len(X)
        self._size = sample_size(self.max_samples, len(X))
        if check_bool("oob_score", self.oob_score) and not (
                self._bootstrapped or self._size < len(X)):
            raise ValueError("oob_score=True needs rows that are left out: "
                             "bootstrap=True or a smaller max_samples.")
        for name in ("oob_score_", "oob_count_", "oob_decision_function_",
                     "oob_prediction_"):
            vars(self).pop(name, None)
        rng = random_generator(self.random_state)
        self._seeds = [int(seed) for seed in rng.integers(0, 2**31 - 1, size=B)]
        share = weight / weight.max()  # their sum must not overflow
        self._chance = None if (share == share[0]).all() else share / share.sum()
        self.estimators_ = []
        for b, rows in enumerate(self.estimators_samples_):
            # dice for the learner, of another stream than those that drew its rows
            dice = np.random.default_rng([1, self._seeds[b]])
            # the bootstrap has drawn by the weights: what it drew counts alike
            own = np.ones(len(rows)) if self._bootstrapped else weight[rows]
            if self._bootstrapped and takes_weights(self._member()):
                rows, own = np.unique(rows, return_counts=True)
            self.estimators_.append(
                fit_copy(self._member(), X[rows], target[rows], own, dice))
        if self.oob_score:
            self._score_out_of_bag(X, target, weight)

    @property
    def estimators_samples_(self) -> list[Ints]:
        """The rows that each member was fitted to; those of weight 0 are not counted.

        They are drawn anew from the members' seeds each time they are asked for.
        """
        self._check_is_fitted()
        chance = self._chance if self._bootstrapped else None
        return [draw_rows(np.random.default_rng(seed), self._n_rows, self._size,
                          self._bootstrapped, chance) for seed in self._seeds]

    def _average(self, X: Floats) -> Floats:
        """Return the mean of what the members say, shape (m, K)."""
        unit, B = self._unit(), len(self.estimators_)
        return sum(unit * self._said(model, X) for model in self.estimators_) / (unit * B)

    def _unit(self) -> float:
        """Return a power of 2, so that unit * (B numbers) sum up without overflow."""
        return 2.0 ** -len(self.estimators_).bit_length()

    def _score_out_of_bag(self, X: Floats, target: NDArray[Any], weight: Floats) -> None:
        rows = [np.setdiff1d(np.arange(len(X)), drawn)
                for drawn in self.estimators_samples_]
        unit, width = self._unit(), self._said(self.estimators_[0], X[:1]).shape[1]
        said = (unit * self._said(model, X[outside]) if len(outside)
                else np.empty((0, width))
                for model, outside in zip(self.estimators_, rows, strict=True))
        prediction, self.oob_count_ = out_of_bag_average(said, rows, len(X))
        prediction /= unit
        nobody = self.oob_count_ == 0
        if nobody.any():
            warn(
                f"{nobody.sum()} of {len(nobody)} rows were drawn by every member: "
                "their out-of-bag predictions are NaN and left out of oob_score_. Use "
                "more members.")
        self._store_out_of_bag(prediction)
        self.oob_score_ = math.nan
        if not nobody.all():
            prediction, target, weight = (
                part[~nobody] for part in (prediction, target, weight))
            self.oob_score_ = self._oob_score(prediction, target, weight / weight.max())

    def _said(self, model: Any, X: Floats) -> Floats:
        raise NotImplementedError

    def _oob_score(self, prediction: Floats, target: Floats, weight: Floats) -> float:
        raise NotImplementedError

    def _store_out_of_bag(self, prediction: Floats) -> None:
        raise NotImplementedError


class BaggingRegressor(_Bag, Regressor):
    """The mean of copies of a regressor, each fitted to rows of its own.

    Parameters
    ----------
    estimator : regressor; by default DecisionTreeRegressor(). Each copy gets its own
        seed for every parameter that is called random_state in it or in its parts; a
        splitter given as cv is no part and keeps its own
    n_estimators : int >= 1, number of copies
    max_samples : int, rows for each copy, or float in (0, 1], their share of n, rounded
        down, but at least one row
    bootstrap : bool, whether rows are drawn with replacement, in proportion to
        ``sample_weight``; without, all alike, and the copies are given the weights.
        A row that was drawn k times is given once, with the weight k, if the
        estimator's ``fit`` takes weights, and otherwise k times. (An estimator that
        takes them, but has a part that does not, is put into a scikit-learn Pipeline:
        then rows are repeated)
    oob_score : bool, whether ``fit`` predicts every row by the copies that did not draw
        it
    random_state : int, Generator or None

    Attributes
    ----------
    estimators_ : list of B fitted copies
    estimators_samples_ : list of B arrays, the rows that each was fitted to, counted
        without those of weight 0: they index X[sample_weight > 0]
    oob_prediction_ : ndarray of shape (n,), NaN where every copy drew the row; rows of
        weight 0 are not among the n. With ``oob_score`` only, like the next two
    oob_score_ : float, its (weighted) R^2. Where all y are equal: 1 if the predictions
        equal them but for rounding, else 0
    oob_count_ : ndarray of shape (n,), copies that did not draw the row
    """

    _default_estimator = DecisionTreeRegressor

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BaggingRegressor:
        """Fit to X of shape (n, d) and y of shape (n,); return self.

        Raises ValueError for an estimator that is known to be no regressor.
        """
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        self._fit(X, y, weight)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the mean prediction, shape (m,)."""
        return self._average(self._check_new_data(X))[:, 0]

    def _said(self, model: Any, X: Floats) -> Floats:
        return predicted(model, X)

    def _oob_score(self, prediction: Floats, target: Floats, weight: Floats) -> float:
        return r_squared(target, prediction[:, 0], weight)

    def _store_out_of_bag(self, prediction: Floats) -> None:
        self.oob_prediction_ = prediction[:, 0]


class BaggingClassifier(_Bag, Classifier):
    """The mean class shares of copies of a classifier, each fitted to rows of its own.

    Copies without ``predict_proba`` vote. A class that a copy has not drawn has the
    share 0 in it. An estimator that needs two classes, as a logistic regression does,
    fails where a draw has met only one: then use another, such as a tree.

    Parameters as those of ``BaggingRegressor``; the default estimator is
    DecisionTreeClassifier().

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of B copies, fitted to the labels 0, ..., K - 1
    estimators_samples_ : list of B arrays, as those of ``BaggingRegressor``
    oob_decision_function_ : ndarray of shape (n, K), NaN where every copy drew the row;
        rows of weight 0 are not among the n. With ``oob_score`` only, like the next two
    oob_score_ : float, the (weighted) accuracy of its largest entries
    oob_count_ : ndarray of shape (n,), copies that did not draw the row
    """

    _default_estimator = DecisionTreeClassifier

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BaggingClassifier:
        """Fit to X of shape (n, d) and labels y of shape (n,); return self.

        Raises ValueError for an estimator that is known to be no classifier.
        """
        X, codes, weight = self._check_fit_data_and_target(X, y, sample_weight)
        self._fit(X, codes, weight)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the mean class shares, shape (m, K)."""
        return self._average(self._check_new_data(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest mean share, the first of equals, (m,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _said(self, model: Any, X: Floats) -> Floats:
        return class_shares(model, X, len(self.classes_))

    def _oob_score(self, prediction: Floats, target: Floats, weight: Floats) -> float:
        return float(np.average(prediction.argmax(axis=1) == target, weights=weight))

    def _store_out_of_bag(self, prediction: Floats) -> None:
        self.oob_decision_function_ = prediction


def sample_size(max_samples: Any, n: int) -> int:
    """Return how many rows a copy is given: a count as it is, a float as a share.

    A share of n is rounded down, but at least 1.
    """
    if isinstance(max_samples, (float, np.floating)):
        share = check_number("max_samples", max_samples, above=0, high=1)
        return max(1, int(share * n))
    return check_integer("max_samples", max_samples, low=1, high=n)
