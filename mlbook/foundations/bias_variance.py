"""The bias-variance decomposition, measured and in closed form.

A learner turns a training set into a predictor. At a fixed point x, the prediction
fhat(x) is random because the training set is. New targets are y = f(x) + noise, with
noise of mean 0 and variance sigma^2 that is independent of the training set, so

    E (y - fhat)^2 = (E fhat - f)^2 + E (fhat - E fhat)^2 + sigma^2 ,
        total      =     bias^2     +      variance       +  noise

where every expectation is over training sets (and the new noise), never over test
points. Averages over test points are taken of the three parts afterwards.

``bias_variance`` measures the parts of any estimator by training it on fresh sets.
``linear_smoother_bias_variance`` computes them exactly for predictors S y.
Sources: Geman, Bienenstock and Doursat (1992); Krogh and Vedelsby (1995) for the
ambiguity decomposition; Hoeffding (1948) for the standard errors.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from types import MemberDescriptorType
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from mlbook.base import Regressor
from mlbook.exceptions import warn
from mlbook.linear.ridge import centre, refuse_overflow, solve_ridge
from mlbook.validation import (
    Floats,
    as_float,
    check_integer,
    check_number,
    random_generator,
)

LARGEST = 1e150  # whose square is a float64 still, and so are sums of many such squares
MAX_COLUMNS = 100_000  # of PolynomialRegression; LAPACK crashes at some millions
MAX_CONDITION = 1e7  # of polynomial_smoother's columns; leaves 8 to 9 digits


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """The parts of the expected squared error, in squared units of the target.

    Attributes
    ----------
    bias2, variance, noise, total : float
        Averages over the m test points.
    bias : ndarray of shape (m,)
        E fhat - f at each test point, in units of the target.
    pointwise_bias2, pointwise_variance : ndarray of shape (m,)
        The parts at each test point.
    """

    bias2: float
    variance: float
    noise: float
    total: float
    bias: Floats
    pointwise_bias2: Floats
    pointwise_variance: Floats


@dataclass(frozen=True, eq=False)
class BiasVarianceEstimate(BiasVariance):
    """What ``bias_variance`` measured, with the standard error of each average.

    ``bias2`` and ``variance`` are unbiased estimates (so ``bias2`` may fall below 0
    where the bias is small) and ``noise`` is sigma^2, which is known. ``total`` is
    measured on new targets: that it agrees with the sum is an observation.

    Attributes
    ----------
    bias2_se, variance_se, total_se : float
        Standard errors over training sets. ``variance_se`` is NaN for two of them.
    predictions : ndarray of shape (n_training_sets, m)
        fhat at the test points, one row for each training set.
    """

    bias2_se: float
    variance_se: float
    total_se: float
    predictions: Floats


def bias_variance(
    estimator: Any,
    true_function: Callable[[Floats], ArrayLike],
    X: ArrayLike,
    sigma: float,
    X_test: ArrayLike | None = None,
    n_training_sets: int = 200,
    redraw: Callable[[np.random.Generator], ArrayLike] | None = None,
    random_state: Any = None,
) -> BiasVarianceEstimate:
    """Measure bias^2, variance and total error over fresh training sets.

    Each training set has the targets true_function(X) plus new normal noise of standard
    deviation ``sigma``. X stays fixed, unless ``redraw(generator)`` returns a new one
    for every set. The estimator is copied for every fit and itself left alone.

    What a learner draws at random belongs to its variance, so each copy gets dice of
    its own. In the copy and in the objects it holds, in containers of any kind too,
    an attribute ``random_state`` becomes a new integer, as does an integer under that
    key of a dictionary, and generators (NumPy's, and random.Random) get a new state.
    All is drawn with the ``random_state`` of this function. (None stays: it is new in
    each fit anyway.) What deepcopy does not copy stays as it is, and a seed under
    another name is not found. It is the same for all fits, and what it
    decides is then missing from the variance.

    Parameters
    ----------
    estimator : object with ``fit(X, y)`` and ``predict(X)``
    true_function : callable, from X of shape (n, d) to f of shape (n,)
    X : array-like of shape (n, d), the training inputs
    sigma : float from 0 to 1e150, in units of the target
    X_test : array-like of shape (m, d), by default X
    n_training_sets : int >= 2, or >= 3 for a standard error of the variance
    redraw : callable, from a NumPy generator to training inputs with d columns
    random_state : None, int or numpy.random.Generator

    Raises
    ------
    TypeError, ValueError
        For bad arguments, and for predictions of another shape, or that are not finite,
        or whose squares overflow.
    """
    _check_call(estimator, true_function, redraw)
    sigma = check_number("sigma", sigma, low=0, high=LARGEST)
    n_training_sets = check_integer("n_training_sets", n_training_sets, low=2)
    rng = random_generator(random_state)
    X = _matrix(X, "X")
    X_test = X if X_test is None else _matrix(X_test, "X_test", X.shape[1])
    f_test = _true_values(true_function, X_test)
    predictions = np.empty((n_training_sets, len(X_test)))
    for r in range(n_training_sets):
        if redraw is not None:
            X = _matrix(redraw(rng), "redraw(generator)", X_test.shape[1])
        f = _true_values(true_function, X)
        model = _independent_copy(estimator, rng)
        model.fit(X.copy(), f + sigma * rng.normal(size=len(X)))
        predictions[r] = _prediction(model, X_test)
    new_targets = f_test + sigma * rng.normal(size=predictions.shape)
    return decompose(predictions, f_test, sigma, new_targets)


def _independent_copy(estimator: Any, rng: np.random.Generator) -> Any:
    """Return a deep copy that shares no random numbers with other copies.

    deepcopy notes what it has copied, wherever that lies, and in which order: an object
    comes directly before the dictionary with its attributes. Only what is noted is
    renewed. The rest may be the caller's own.
    """
    copied: dict[int, Any] = {}
    try:
        model = copy.deepcopy(estimator, copied)
    except TypeError as error:
        raise TypeError(
            "estimator must be an object that copy.deepcopy can copy, because each fit "
            f"takes a copy of its own: {error}."
        ) from error
    parts, before = list(copied.values()), None
    own, renewed = set(map(id, parts)), set[int]()
    for part in parts:
        if isinstance(part, _DICE):
            _renew_dice(part, rng, renewed)
        elif isinstance(part, dict):
            # The attributes have been renewed in the object, and this is a mere draft.
            attributes = getattr(before, "__dict__", {})
            if not (attributes and attributes.keys() <= part.keys()):
                _renew_entry(part, rng)
        else:
            _renew_attributes(part, rng, own)
        before = part
    return model


_DICE = (
    np.random.Generator,
    np.random.BitGenerator,
    np.random.RandomState,
    random.Random,
)


def _renew_dice(dice: Any, rng: np.random.Generator, renewed: set[int]) -> None:
    """Give ``dice`` another state in place: whoever shares them goes on sharing."""
    if isinstance(dice, random.Random):
        dice.seed(_seed(rng))
    elif isinstance(dice, np.random.RandomState):
        # A legacy generator may also hold a normal number that it has not handed out.
        source = getattr(np.random, dice.get_state(legacy=False)["bit_generator"])
        dice.set_state({**source(_seed(rng)).state, "has_gauss": 0, "gauss": 0.0})
    else:
        source = getattr(dice, "bit_generator", dice)  # of a Generator, or itself
        if id(source) not in renewed:
            source.state = type(source)(_seed(rng)).state
            renewed.add(id(source))


def _renew_entry(entries: dict[Any, Any], rng: np.random.Generator) -> None:
    """Renew a number under the key "random_state", but no list of seeds to choose."""
    if isinstance(entries.get("random_state"), Integral):
        entries["random_state"] = _seed(rng)


def _renew_attributes(part: Any, rng: np.random.Generator, own: set[int]) -> None:
    """Renew ``part.random_state``, if that is no property and not None.

    Generators are renewed where they are met, but one that is not among the ``own``
    copies may be the caller's: a part with a __deepcopy__ of its own gets a twin of it.
    """
    attributes = getattr(part, "__dict__", {})
    for name, value in list(attributes.items()):
        if isinstance(value, _DICE) and id(value) not in own:
            attributes[name] = copy.deepcopy(value)
            _renew_dice(attributes[name], rng, set())
    slot = getattr(type(part), "random_state", None)
    if "random_state" in attributes or isinstance(slot, MemberDescriptorType):
        if not isinstance(getattr(part, "random_state", None), (type(None), *_DICE)):
            object.__setattr__(part, "random_state", _seed(rng))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32, dtype=np.int64))


def decompose(
    predictions: ArrayLike, f: ArrayLike, sigma: float, new_targets: ArrayLike
) -> BiasVarianceEstimate:
    """Estimate the parts from the predictions of R independent training sets.

    Parameters
    ----------
    predictions : array-like of shape (R, m), R >= 2
    f : array-like of shape (m,), the true values at the test points
    sigma : float from 0 to 1e150, standard deviation of the noise
    new_targets : array-like of shape (R, m), targets with noise of their own

    Raises
    ------
    TypeError, ValueError
        For R < 2, shapes that do not fit, values that are not finite or beyond 1e150,
        and a bad sigma.

    Warns
    -----
    RuntimeWarning
        For R = 2, where the two squared spreads are equal whatever was predicted, so
        that nothing is known about the error of the variance: ``variance_se`` is NaN.

    Notes
    -----
    The squared error of the mean prediction exceeds bias^2 by variance / R on average,
    which is subtracted. What remains is the U-statistic with the kernel
    h(r, s) = mean over points of e_r e_s, where e_r = predictions[r] - f, so that with
    b = E e and the m x m covariance matrix C of e its variance is

        4 b'Cb / (R m^2) + 2 tr(C^2) / (R (R - 1) m^2) .

    Errors below 1e-154 have squares that vanish in float64: take a smaller unit there.

    Test points share their training sets, so no standard error treats them as
    independent. All three are for a few dozen training sets or more. That of bias2 is
    up to 1.4 times too large where b'Cb = 0, as it is for least squares at its own
    training points, because an estimate of it cannot fall below 0.
    """
    sigma = check_number("sigma", sigma, low=0, high=LARGEST)
    predictions = _squarable(predictions, "predictions").copy()
    f, new_targets = _squarable(f, "f"), _squarable(new_targets, "new_targets")
    _check_measurement(predictions, f, new_targets)
    R = len(predictions)
    bias = predictions.mean(axis=0) - f
    spread = predictions - predictions.mean(axis=0)
    variance = (spread**2).sum(axis=0) / (R - 1)
    bias2 = bias**2 - variance / R
    error_per_set = ((predictions - new_targets) ** 2).mean(axis=1)
    return BiasVarianceEstimate(
        bias2=float(bias2.mean()),
        variance=float(variance.mean()),
        noise=sigma**2,
        total=float(error_per_set.mean()),
        bias=bias,
        pointwise_bias2=bias2,
        pointwise_variance=variance,
        bias2_se=_bias2_standard_error(spread, bias),
        variance_se=_variance_standard_error(spread),
        total_se=_standard_error(error_per_set),
        predictions=predictions,
    )


def _standard_error(values: Floats) -> float:
    # Squares of squares: in this unit they neither overflow nor vanish.
    unit = float(values.max()) or 1.0
    return unit * float((values / unit).std(ddof=1)) / math.sqrt(len(values))


def _variance_standard_error(spread: Floats) -> float:
    R = len(spread)
    spread_per_set = (spread**2).mean(axis=1) * R / (R - 1)
    return _standard_error(spread_per_set) if R > 2 else math.nan


def _bias2_standard_error(spread: Floats, bias: Floats) -> float:
    R, m = spread.shape
    unit = float(max(np.abs(spread).max(), np.abs(bias).max())) or 1.0
    spread, bias = spread / unit, bias / unit
    # gamma = tr(C^2) / m^2, from products of two different sets only. The squares of
    # all products add up to the same in the smaller of the two matrices.
    products = spread.T @ spread if m < R else spread @ spread.T
    squares = (products**2).sum() - ((spread**2).sum(axis=1) ** 2).sum()
    gamma = max(float(squares), 0.0) / (R * (R - 1) * m**2)
    # b'Cb / m^2; the noise in the measured bias adds gamma / R to it on average.
    along = float((spread @ bias / m).var(ddof=1)) - gamma / R
    return unit**2 * math.sqrt(4 * max(along, 0.0) / R + 2 * gamma / (R * (R - 1)))


def linear_smoother_bias_variance(
    S: ArrayLike, f: ArrayLike, sigma: float, f_test: ArrayLike | None = None
) -> BiasVariance:
    """Compute the parts exactly for predictions S y, where y = f + noise.

    The bias is S f - f_test. At the training points themselves, where m = n and f_test
    is f, bias^2 averages |(S - I) f|^2 / n. The variance averages sigma^2 tr(S S') / m.

    Parameters
    ----------
    S : array-like of shape (m, n), which must not depend on the targets
    f : array-like of shape (n,), the true values at the training points
    sigma : float from 0 to 1e150, standard deviation of the noise
    f_test : array-like of shape (m,), the true values at the test points, by default f

    Raises
    ------
    TypeError, ValueError
        For shapes that do not fit, values that are not finite, parts that overflow,
        and a bad sigma.
    """
    sigma = check_number("sigma", sigma, low=0, high=LARGEST)
    S, f = as_float(S, "S"), as_float(f, "f")
    f_test = f if f_test is None else as_float(f_test, "f_test")
    if f.ndim != 1 or f_test.ndim != 1 or S.shape != (len(f_test), len(f)):
        raise ValueError(
            "S must have one row for each test point and one column for each training "
            f"point; got S {S.shape}, f {f.shape}, f_test {f_test.shape}."
        )
    if S.size == 0:
        raise ValueError(f"S must not be empty, got shape {S.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        bias = S @ f - f_test
        variance = ((sigma * S) ** 2).sum(axis=1)  # so that no part underflows alone
        parts = float((bias**2).mean()), float(variance.mean()), sigma**2
    refuse_overflow(sum(parts), "the sum of squared bias, variance and noise")
    return BiasVariance(*parts, sum(parts), bias, bias**2, variance)


def variance_of_mean(rho: ArrayLike, s2: ArrayLike, B: ArrayLike) -> Any:
    """Return rho s2 + (1 - rho) s2 / B, the variance of the mean of B predictors.

    Each has variance s2 >= 0 and any two have correlation rho. Broadcasts; B holds
    whole numbers. Raises TypeError where B does not, and ValueError where B < 1,
    s2 < 0, or rho is no correlation that B variables can share, which is one below -1,
    below -1 / (B - 1), or above 1. (A rho that rounding put beyond counts as on it.)
    """
    rho, s2, B = as_float(rho, "rho"), as_float(s2, "s2"), np.asarray(B)
    if B.dtype.kind not in "iu":
        raise TypeError(
            "B must be a whole number of predictors that fits into int64, got "
            f"{B.dtype} {B}."
        )
    _check_variance_of_mean(rho, s2, B)
    rho = np.minimum(rho, 1.0)
    shared = 1 + rho * (B - 1.0)  # B times the variance of the mean, for s2 = 1
    return s2 * (np.maximum(shared, 0.0) / B)


def _check_variance_of_mean(rho: Floats, s2: Floats, B: Any) -> None:
    try:
        rho, s2, B = np.broadcast_arrays(rho, s2, B)
    except ValueError:
        raise ValueError(
            "rho, s2 and B must be numbers or arrays whose shapes broadcast, got shapes "
            f"{rho.shape}, {s2.shape} and {B.shape}."
        ) from None
    if (B < 1).any():
        raise ValueError(f"B must be at least 1 predictor, got {B.min()}.")
    if (s2 < 0).any():
        raise ValueError(f"s2 is a variance and must be >= 0, got {s2.min():g}.")
    bad = (rho < -1) | (rho > 1 + 1e-12) | (1 + rho * (B - 1.0) < -1e-12)
    if bad.any():
        rho, B = rho[bad][0], B[bad][0]
        low = -1 if B == 1 else -1 / (B - 1)
        raise ValueError(
            f"rho must lie between {low:.4g} and 1 for B = {B} predictors, got {rho}."
        )


def ambiguity_decomposition(
    predictions: ArrayLike, target: ArrayLike
) -> tuple[Any, Any, Any]:
    """Split the members' mean squared error around their average G.

    avg_t (g_t - f)^2 = avg_t (g_t - G)^2 + (G - f)^2 holds for any numbers, with no
    assumption about how the members came about.

    Parameters
    ----------
    predictions : array-like of shape (T, ...), the members g_t along the first axis
    target : array-like of shape (...), f

    Returns
    -------
    error, ambiguity, error_of_mean : each of the target's shape
        The left-hand side and the two terms on the right.

    Raises
    ------
    TypeError, ValueError
        For shapes that do not fit, and values that are not finite or beyond 1e150.
    """
    g, f = _squarable(predictions, "predictions"), _squarable(target, "target")
    if g.ndim == 0 or len(g) == 0 or g.shape[1:] != f.shape:
        raise ValueError(
            "predictions must have shape (T, *target.shape) with T >= 1, got "
            f"{g.shape} for a target of shape {f.shape}."
        )
    G = g.mean(axis=0)
    return ((g - f) ** 2).mean(axis=0), ((g - G) ** 2).mean(axis=0), (G - f) ** 2


def polynomial_smoother(
    x: ArrayLike, degree: int, x_test: ArrayLike | None = None
) -> Floats:
    """Return S of shape (m, n): the least-squares polynomial at x_test is S y.

    x of shape (n,) must hold more than ``degree`` different values; x_test of shape
    (m,) is x by default. The basis is orthonormalised, not the normal equations solved.

    Entries are right to about 1e-8 of the largest of their row. Where x does not allow
    that, because the polynomials are nearly dependent on it, ValueError is raised, as
    it is for values that do not fit into float64 far outside x. On n equal steps every
    degree up to n - 1 is possible for n <= 30.
    """
    x = as_float(x, "x")
    x_test = x if x_test is None else as_float(x_test, "x_test")
    if x.ndim != 1 or x_test.ndim != 1:
        raise ValueError(
            f"x and x_test must be 1-D, got shapes {x.shape} and {x_test.shape}."
        )
    degree, different = check_integer("degree", degree, low=0), len(np.unique(x))
    if different <= degree:
        raise ValueError(
            f"degree {degree} needs {degree + 1} or more different values in x, got "
            f"{different}."
        )
    if len(x_test) == 0:
        raise ValueError("x_test must hold at least one point.")
    x, x_test = x[:, np.newaxis], x_test[:, np.newaxis]
    low, high = x.min(axis=0), x.max(axis=0)
    Q, triangle = np.linalg.qr(_basis(x, degree, low, high))
    _check_condition(triangle, degree)
    rows = _basis(x_test, degree, low, high)
    return np.linalg.solve(triangle.T, rows.T).T @ Q.T


def _check_condition(triangle: Floats, degree: int) -> None:
    condition = np.linalg.cond(triangle)
    if not condition <= MAX_CONDITION:
        raise ValueError(
            f"polynomials up to degree {degree} are too nearly dependent on these "
            f"inputs (condition number {condition:.1e}, at most {MAX_CONDITION:.0e}): "
            "take a lower degree, more inputs, or inputs that are denser towards both "
            "ends."
        )


def ridge_smoother(
    X: ArrayLike, alpha: float, X_test: ArrayLike | None = None
) -> Floats:
    """Return S of shape (m, n): ridge regression predicts S y at X_test.

    S = 1 1'/n + (X_test - mean)(Xc'Xc + alpha I)^-1 Xc', where Xc = X - mean and the
    intercept is not penalised. X is (n, d); X_test is (m, d), by default X; alpha >= 0
    is in squared units of X. Raises TypeError or ValueError for bad arguments and for
    values that do not fit into float64.
    """
    alpha = check_number("alpha", alpha, low=0)
    X = _matrix(X, "X")
    X_test = X if X_test is None else _matrix(X_test, "X_test", X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        centred, mean = centre(X, np.ones(len(X)))
        # the right side is centred as well: what is left of the mean is not fitted twice
        coefficients = solve_ridge(centred, np.eye(len(X)) - 1 / len(X), alpha)
        S = 1 / len(X) + (X_test - mean) @ coefficients
    return refuse_overflow(S, "an entry of S")


class PolynomialRegression(Regressor):
    """Least squares on the powers of each feature up to ``degree``, and an intercept.

    With several features the polynomials are added; there are no products between
    features. The columns are Chebyshev polynomials of each feature scaled to [-1, 1],
    which span the same space as the powers and are better conditioned. Where the rows
    do not determine the coefficients, they are the shortest possible in that basis. A
    feature that is constant in fit contributes nothing, wherever it is in predict.

    Parameters
    ----------
    degree : int >= 0, with 1 + d degree <= 100 000

    Attributes
    ----------
    coef_ : ndarray of shape (1 + d degree,), of the Chebyshev columns: the intercept,
        then degree 1, 2, ... of the first feature, of the second, and so on
    low_, high_ : ndarrays of shape (d,), what maps to -1 and 1 in each feature
    """

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PolynomialRegression:
        """Fit to X of shape (n, d) and y of shape (n,).

        Raises ValueError or TypeError for a bad degree and for bad data.
        """
        degree = check_integer("degree", self.degree, low=0)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        if degree * X.shape[1] >= MAX_COLUMNS:
            raise ValueError(
                f"degree {degree} makes more than {MAX_COLUMNS} columns: lower it to "
                f"{(MAX_COLUMNS - 1) // X.shape[1]} or less."
            )
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        root = np.sqrt(weight)
        columns = root[:, np.newaxis] * _basis(X, degree, self.low_, self.high_)
        # Heavy rows first: below light ones, their rounding would drown these.
        order = np.argsort(-root, kind="stable")
        self.coef_, _, rank, _ = np.linalg.lstsq(
            columns[order], (root * y)[order], rcond=None
        )
        refuse_overflow(self.coef_, "a coefficient")
        different = [len(np.unique(values)) for values in X.T]
        if X.shape[1] == 1 and rank < min(degree + 1, different[0]):
            warn(
                f"The rows determine a polynomial of degree {degree}, but only {rank} of "
                "its coefficients are above rounding: lower the degree.",
                RuntimeWarning,
            )
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the polynomial's values, of shape (m,).

        Raises ValueError where they do not fit into float64, far outside the range of
        the data that were fitted.
        """
        X = self._check_new_data(X)
        degree = (len(self.coef_) - 1) // self.n_features_in_
        columns = _basis(X, degree, self.low_, self.high_)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_overflow(columns @ self.coef_, "a prediction")


def _basis(X: Floats, degree: int, low: Floats, high: Floats) -> Floats:
    """Return the columns 1, T_1(z_1), ..., T_degree(z_d), with z in [-1, 1] on fit.

    z is 0, and so are its columns, for a feature whose low and high are equal.
    """
    quarter = (high / 2 - low / 2) / 2  # halves first: high - low may overflow
    varies = quarter > 0
    with np.errstate(over="ignore", invalid="ignore"):
        z = (X / 2 - low / 2) / np.where(varies, quarter, 1.0) - 1
        powers = chebyshev.chebvander(np.where(varies, z, 0.0), degree)[:, :, 1:]
    powers = powers * varies[:, np.newaxis]
    if not np.isfinite(powers).all():
        raise ValueError(
            f"a polynomial of degree {degree} does not fit into float64 so far outside "
            "the inputs that were fitted: evaluate it nearer to them."
        )
    return np.column_stack([np.ones(len(X)), powers.reshape(len(X), -1)])


def _check_call(estimator: Any, true_function: Any, redraw: Any) -> None:
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not hasattr(estimator, method):
            raise TypeError(
                "estimator must be an instance with fit and predict, got "
                f"{estimator!r}."
            )
    if not callable(true_function):
        raise TypeError(f"true_function must be callable, got {true_function!r}.")
    if redraw is not None and not callable(redraw):
        raise TypeError(f"redraw must be None or a callable, got {redraw!r}.")


def _check_measurement(predictions: Floats, f: Floats, new_targets: Floats) -> None:
    if predictions.ndim != 2 or len(predictions) < 2 or predictions.size == 0:
        raise ValueError(
            "predictions must have shape (R, m) with R >= 2 training sets and m >= 1 "
            f"test points, got shape {predictions.shape}."
        )
    if f.shape != predictions.shape[1:]:
        raise ValueError(
            f"f must have shape {predictions.shape[1:]}, one true value for each test "
            f"point, got {f.shape}."
        )
    if new_targets.shape != predictions.shape:
        raise ValueError(
            f"new_targets must have the shape {predictions.shape} of predictions, got "
            f"{new_targets.shape}."
        )
    if len(predictions) == 2:
        warn(
            "variance_se is NaN: two training sets always have equal squared spreads, "
            "so take three or more for a standard error of the variance.",
            RuntimeWarning,
        )


def _squarable(values: ArrayLike, name: str) -> Floats:
    values = as_float(values, name)
    if np.abs(values).max(initial=0) > LARGEST:
        raise ValueError(
            f"{name} must lie between -1e150 and 1e150, or the squares overflow: "
            "express the target in a larger unit."
        )
    return values


def _matrix(X: ArrayLike, name: str, n_columns: int | None = None) -> Floats:
    X = as_float(X, name)
    expected = "d" if n_columns is None else n_columns
    if X.ndim != 2 or X.size == 0 or n_columns not in (None, X.shape[1]):
        raise ValueError(
            f"{name} must be a 2-D array of shape (n, {expected}) with n >= 1, got "
            f"shape {X.shape}."
        )
    return X


def _true_values(true_function: Callable[[Floats], ArrayLike], X: Floats) -> Floats:
    f = true_function(X)
    if f is None:
        raise ValueError("true_function returned None: it must return f, of shape (n,).")
    f = _squarable(f, "true_function(X)")
    if f.shape != (len(X),):
        raise ValueError(
            f"true_function must return shape ({len(X)},) for X of shape {X.shape}, "
            f"got {f.shape}; X[:, 0] is the first feature."
        )
    return f


def _prediction(model: Any, X_test: Floats) -> Floats:
    prediction = model.predict(X_test.copy())
    if prediction is None:
        raise ValueError("predict returned None: it must return shape (m,).")
    prediction = as_float(prediction, "predict(X_test)")
    if prediction.shape != (len(X_test),):
        raise ValueError(
            f"predict must return shape ({len(X_test)},), got {prediction.shape}."
        )
    return prediction
