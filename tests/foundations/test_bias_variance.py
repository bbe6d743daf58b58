"""Monte-Carlo against closed forms, exact cases, calibrated errors, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mlbook.foundations.bias_variance import (
    PolynomialRegression,
    ambiguity_decomposition,
    bias_variance,
    decompose,
    linear_smoother_bias_variance,
    polynomial_smoother,
    ridge_smoother,
    variance_of_mean,
)
from mlbook.linear.ridge import Ridge

x = np.linspace(-1, 1, 15)
X = x[:, np.newaxis]
X_WIDE = np.random.default_rng(8).normal(size=(15, 4))
SIGMA = 0.4


def wave(X):
    return np.sin(3 * X[:, 0])


class Mean:
    """Predicts the mean of y everywhere: exact results need no more."""

    def fit(self, X, y):
        self.mean = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


class Smoother:
    def __init__(self, S):
        self.S = S

    def fit(self, X, y):
        self.prediction = self.S @ y
        return self

    def predict(self, X):
        return self.prediction


def assert_within(measured, exact, standard_errors=4):
    for part in ("bias2", "variance", "total"):
        error = getattr(measured, part) - getattr(exact, part)
        limit = standard_errors * getattr(measured, f"{part}_se")
        assert abs(error) < limit, f"{part} is off by {error:.3g}, allowed {limit:.3g}"
    assert measured.noise == pytest.approx(exact.noise, rel=1e-15)


# Monte-Carlo = closed form


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("degree", [0, 1, 3, 6, 9])
def test_polynomial_regression_agrees_with_closed_form(degree, seed):
    measured = bias_variance(
        PolynomialRegression(degree), wave, X, SIGMA, random_state=seed
    )
    S = polynomial_smoother(x, degree)
    exact = linear_smoother_bias_variance(S, wave(X), SIGMA)
    assert_within(measured, exact)
    assert exact.variance == pytest.approx(SIGMA**2 * (degree + 1) / 15, rel=1e-10)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 30.0])
def test_ridge_agrees_with_closed_form(alpha, seed):
    measured = bias_variance(Ridge(alpha), wave, X_WIDE, SIGMA, random_state=seed)
    S = ridge_smoother(X_WIDE, alpha)
    assert_within(measured, linear_smoother_bias_variance(S, wave(X_WIDE), SIGMA))


def test_other_test_points_agree_with_closed_form():
    x_test = np.array([-0.95, 0.03, 0.5, 1.1])
    X_test = x_test[:, np.newaxis]
    measured = bias_variance(
        PolynomialRegression(3), wave, X, SIGMA, X_test=X_test, random_state=0
    )
    S = polynomial_smoother(x, 3, x_test)
    exact = linear_smoother_bias_variance(S, wave(X), SIGMA, wave(X_test))
    assert_within(measured, exact)
    np.testing.assert_allclose(measured.bias, exact.bias, atol=0.1)
    np.testing.assert_allclose(
        measured.pointwise_variance, exact.pointwise_variance, rtol=0.5
    )
    assert measured.predictions.shape == (200, 4)


def test_total_error_is_the_sum_of_its_parts():
    measured = bias_variance(
        Ridge(3.0), wave, X, SIGMA, n_training_sets=2000, random_state=0
    )
    parts = measured.bias2 + measured.variance + measured.noise
    assert abs(measured.total - parts) < 4 * measured.total_se


def test_pointwise_parts_average_to_the_whole():
    measured = bias_variance(Ridge(3.0), wave, X, SIGMA, random_state=0)
    assert measured.bias2 == pytest.approx(measured.pointwise_bias2.mean())
    assert measured.variance == pytest.approx(measured.pointwise_variance.mean())


# Exact cases


def test_noise_counts_in_neither_bias_nor_variance():
    """A predictor that ignores y has variance 0 and its bias, whatever the noise."""
    ignorant = Smoother(np.zeros((15, 15)))
    measured = bias_variance(ignorant, wave, X, sigma=5.0, random_state=0)
    assert measured.bias2 == pytest.approx(np.mean(wave(X) ** 2), rel=1e-12)
    assert (measured.variance, measured.noise) == (0.0, 25.0)
    assert abs(measured.total - measured.bias2 - 25.0) < 4 * measured.total_se


def test_variance_is_over_training_sets_and_not_over_test_points():
    """Without noise all training sets are equal, however much f varies over x."""
    measured = bias_variance(PolynomialRegression(5), wave, X, 0.0, random_state=0)
    assert measured.variance < 1e-25
    assert measured.bias2_se < 1e-12
    assert measured.bias2 == pytest.approx(
        linear_smoother_bias_variance(polynomial_smoother(x, 5), wave(X), 0.0).bias2
    )


def test_share_of_the_variance_is_removed_from_bias2():
    """The mean of many estimates from few sets: 0, not variance / R, for no bias."""
    estimates = [
        bias_variance(
            Smoother(np.eye(15)), wave, X, 1.0, n_training_sets=3, random_state=seed
        )
        for seed in range(300)
    ]
    bias2 = np.array([estimate.bias2 for estimate in estimates])
    variance = np.array([estimate.variance for estimate in estimates])
    assert abs(bias2.mean()) < 4 * bias2.std() / np.sqrt(300) < 0.05
    assert abs(variance.mean() - 1) < 4 * variance.std() / np.sqrt(300) < 0.1


def test_redrawn_inputs_exactly():
    """The mean of n targets x + noise, x uniform on (-1, 1): variance (1/3 + s^2)/n."""
    X_test = np.array([[-0.5], [0.0], [1.0]])
    measured = bias_variance(
        Mean(),
        lambda X: X[:, 0],
        X,
        SIGMA,
        X_test=X_test,
        n_training_sets=1000,
        redraw=lambda rng: rng.uniform(-1, 1, size=(10, 1)),
        random_state=0,
    )
    exact = np.mean(X_test**2), (1 / 3 + SIGMA**2) / 10
    assert abs(measured.bias2 - exact[0]) < 4 * measured.bias2_se < 0.1
    assert abs(measured.variance - exact[1]) < 4 * measured.variance_se < 0.02


def test_redrawn_inputs_by_brute_force():
    """The same numbers from numpy.polyfit and from plain averages."""
    rng = np.random.default_rng(99)
    fits = []
    for _ in range(4000):
        inputs = rng.uniform(-1, 1, size=12)
        y = np.sin(3 * inputs) + SIGMA * rng.normal(size=12)
        fits.append(np.polyval(np.polyfit(inputs, y, 2), x))
    fits = np.array(fits)
    measured = bias_variance(
        PolynomialRegression(2),
        wave,
        X,
        SIGMA,
        n_training_sets=1000,
        redraw=lambda rng: rng.uniform(-1, 1, size=(12, 1)),
        random_state=1,
    )
    spread = ((fits - fits.mean(axis=0)) ** 2).mean(axis=1)
    variance_se = spread.std() / np.sqrt(4000)
    assert abs(measured.variance - spread.mean()) < 4 * np.hypot(
        variance_se, measured.variance_se
    )
    bias2 = ((fits.mean(axis=0) - wave(X)) ** 2).mean()
    assert abs(measured.bias2 - bias2) < 4 * measured.bias2_se


# The standard errors are right


def repeated(S, sets, repeats):
    exact = linear_smoother_bias_variance(S, wave(X), SIGMA)
    runs = [
        bias_variance(
            Smoother(S), wave, X, SIGMA, n_training_sets=sets, random_state=seed
        )
        for seed in range(repeats)
    ]
    return {
        part: np.array(
            [
                (getattr(run, part) - getattr(exact, part), getattr(run, f"{part}_se"))
                for run in runs
            ]
        ).T
        for part in ("bias2", "variance", "total")
    }


def test_standard_errors_are_calibrated():
    """Errors divided by their standard errors have mean 0 and standard deviation 1."""
    for part, (error, se) in repeated(ridge_smoother(X, 3.0), 100, 250).items():
        z = error / se
        assert 0.85 < z.std() < 1.15, part
        assert abs(z.mean()) < 0.3, part


def test_standard_errors_without_correlation_of_bias_and_spread():
    """Least squares at its own points has b'Cb = 0: bias2's error may be 1.4 times
    too large there, and is never too small."""
    parts = repeated(polynomial_smoother(x, 3), 100, 250)
    for part, (error, se) in parts.items():
        ratio = np.sqrt((se**2).mean()) / error.std()
        assert 0.9 < ratio < (1.45 if part == "bias2" else 1.12), part


def test_standard_error_of_bias2_with_more_points_than_training_sets():
    """100 independent points and 20 sets: tr(C^2) is 100, and |C|^2 estimates 600."""
    rng = np.random.default_rng(0)
    runs = [
        decompose(rng.normal(size=(20, 100)), np.zeros(100), 0.0, np.zeros((20, 100)))
        for _ in range(300)
    ]
    ratio = np.mean([run.bias2_se**2 for run in runs]) ** 0.5
    ratio /= np.std([run.bias2 for run in runs])
    assert 0.9 < ratio < 1.45


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_standard_errors_in_any_unit(unit):
    """In squared units; the fourth powers behind them must not over- or underflow."""
    rng = np.random.default_rng(0)
    predictions, targets = rng.normal(size=(2, 9, 4))
    plain = decompose(predictions, np.ones(4), 1.0, targets)
    scaled = decompose(unit * predictions, unit * np.ones(4), unit, unit * targets)
    for name in ("bias2_se", "variance_se", "total_se"):
        found, expected = getattr(scaled, name), getattr(plain, name)
        assert found / unit / unit == pytest.approx(expected, rel=1e-12), name


# How it treats its arguments


def test_random_state_and_untouched_arguments():
    class Remembering(Mean):
        fits = 0

        def fit(self, X, y):
            self.fits += 1
            X[:] = 0.0  # a copy is all it can spoil
            return super().fit(X, y)

        def predict(self, X):
            X[:] = 0.0
            return super().predict(X)

    estimator, inputs, saved = Remembering(), X.copy(), X.copy()
    first = bias_variance(estimator, wave, inputs, SIGMA, random_state=4)
    again = bias_variance(estimator, wave, inputs, SIGMA, random_state=4)
    other = bias_variance(estimator, wave, inputs, SIGMA, random_state=5)
    np.testing.assert_array_equal(first.predictions, again.predictions)
    assert first.total == again.total != other.total
    assert vars(estimator) == {}
    np.testing.assert_array_equal(inputs, saved)
    inputs.flags.writeable = False
    frozen = bias_variance(estimator, wave, inputs, SIGMA, random_state=4)
    assert frozen.total == first.total


def test_generator_moves_on():
    rng = np.random.default_rng(0)
    totals = {bias_variance(Mean(), wave, X, 1.0, random_state=rng).total for _ in "ab"}
    assert len(totals) == 2


def test_decompose_by_hand():
    """Two sets, two points, on paper."""
    parts = decompose(
        predictions=[[1.0, 2.0], [3.0, 2.0]],
        f=np.array([1.0, 0.0]),
        sigma=0.5,
        new_targets=np.array([[1.0, 0.0], [2.0, 1.0]]),
    )
    assert parts.pointwise_variance.tolist() == [2.0, 0.0]
    assert parts.bias.tolist() == [1.0, 2.0]
    assert parts.pointwise_bias2.tolist() == [0.0, 4.0]
    assert (parts.bias2, parts.variance, parts.noise) == (2.0, 1.0, 0.25)
    assert parts.total == (0 + 4 + 1 + 1) / 4
    assert parts.total_se == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"predictions": [[1.0, 2.0]]}, ValueError, r"R >= 2.*got shape \(1, 2\)"),
        ({"predictions": [1.0, 2.0]}, ValueError, r"R >= 2.*got shape \(2,\)"),
        ({"predictions": np.empty((2, 0))}, ValueError, r"got shape \(2, 0\)"),
        ({"predictions": [[1, np.nan]] * 2}, ValueError, "predictions contains NaN"),
        ({"f": np.zeros((2, 1))}, ValueError, r"f must have shape \(2,\)"),
        ({"f": [0.0, np.inf]}, ValueError, "f contains inf"),
        ({"new_targets": np.zeros(2)}, ValueError, r"new_targets must have .*\(2, 2\)"),
        ({"sigma": -1.0}, ValueError, "sigma must be finite and >= 0"),
    ],
)
def test_decompose_bad_arguments(changes, error, message):
    good = {
        "predictions": np.eye(2),
        "f": np.zeros(2),
        "sigma": 1.0,
        "new_targets": np.ones((2, 2)),
    }
    with pytest.raises(error, match=message):
        decompose(**{**good, **changes})


def infinite(X):
    return np.full(len(X), np.inf)


class NoPrediction(Mean):
    def predict(self, X):
        return np.full(len(X), np.nan)


class LongPrediction(Mean):
    def predict(self, X):
        return np.zeros(len(X) + 1)


class ColumnPrediction(Mean):
    def predict(self, X):
        return np.zeros((len(X), 1))


GOOD = {"estimator": Mean(), "true_function": wave, "X": X, "sigma": 1.0}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"sigma": -1.0}, ValueError, "sigma must be finite and >= 0"),
        ({"sigma": np.nan}, ValueError, "sigma must be finite and >= 0"),
        ({"sigma": np.inf}, ValueError, "sigma must be finite"),
        ({"sigma": "1"}, TypeError, "sigma must be a number"),
        ({"n_training_sets": 1}, ValueError, "n_training_sets must be >= 2, got 1"),
        ({"n_training_sets": 2.5}, TypeError, "must be a whole number, got 2.5"),
        ({"estimator": NoPrediction()}, ValueError, "from predict contains NaN"),
        ({"estimator": LongPrediction()}, ValueError, r"\(15,\), got \(16,\)"),
        ({"estimator": ColumnPrediction()}, ValueError, r"\(15,\), got \(15, 1\)"),
        ({"estimator": Mean}, TypeError, "an instance with fit and predict"),
        ({"estimator": object()}, TypeError, "an instance with fit and predict"),
        ({"true_function": 3}, TypeError, "true_function must be callable"),
        ({"true_function": np.sin}, ValueError, r"return shape \(15,\).*\(15, 1\)"),
        ({"true_function": infinite}, ValueError, "from true_function contains inf"),
        ({"X": x}, ValueError, r"X must be a 2-D array .* got shape \(15,\)"),
        ({"X": X[:0]}, ValueError, "n >= 1"),
        ({"X": np.full((3, 1), np.inf)}, ValueError, "X contains"),
        ({"X_test": X_WIDE}, ValueError, r"X_test must be .*\(n, 1\).*\(15, 4\)"),
        ({"redraw": 3}, TypeError, "redraw must be None or a callable"),
        ({"redraw": lambda rng: x}, ValueError, "the array from redraw must be"),
        ({"redraw": lambda rng: X_WIDE}, ValueError, "the array from redraw must be"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
    ],
)
def test_bad_arguments(changes, error, message):
    with pytest.raises(error, match=message):
        bias_variance(**{**GOOD, **changes})


# The closed forms


def test_linear_smoother_by_hand():
    """The mean of two points: S = 1/2 everywhere, f = (0, 2), sigma = 2."""
    exact = linear_smoother_bias_variance(np.full((2, 2), 0.5), [0.0, 2.0], 2.0)
    assert exact.bias.tolist() == [1.0, -1.0]
    assert (exact.bias2, exact.variance, exact.noise, exact.total) == (1, 2, 4, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), np.ones(2), 1.0), r"S \(3, 3\), f \(2,\)"),
        ((np.ones((2, 3)), np.ones(3), 1.0), r"S \(2, 3\), f \(3,\), f_test \(3,\)"),
        ((np.eye(2), np.ones(2), -1.0), "sigma"),
        ((np.full((2, 2), np.nan), np.ones(2), 1.0), "S contains NaN"),
        ((np.empty((0, 0)), np.empty(0), 1.0), "empty"),
    ],
)
def test_linear_smoother_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        linear_smoother_bias_variance(*arguments)


@pytest.mark.parametrize("degree", [0, 1, 4, 10])
def test_polynomial_smoother_is_the_projection(degree):
    """S reproduces every polynomial of its degree and is symmetric idempotent."""
    S = polynomial_smoother(x, degree)
    powers = x[:, np.newaxis] ** np.arange(degree + 1)
    np.testing.assert_allclose(S @ powers, powers, atol=1e-11)
    np.testing.assert_allclose(S @ S, S, atol=1e-11)
    np.testing.assert_allclose(S, S.T, atol=1e-11)
    assert np.trace(S) == pytest.approx(degree + 1)
    x_test = np.array([-0.3, 0.77])
    expected = x_test[:, np.newaxis] ** np.arange(degree + 1)
    outside = polynomial_smoother(x, degree, x_test) @ powers
    np.testing.assert_allclose(outside, expected, atol=1e-11)


def test_smoothers_are_the_estimators():
    y = np.random.default_rng(1).normal(size=15)
    x_test = np.array([-1.2, 0.1, 0.9])
    polynomial = PolynomialRegression(4).fit(X, y).predict(x_test[:, np.newaxis])
    np.testing.assert_allclose(polynomial_smoother(x, 4, x_test) @ y, polynomial)
    ridge = Ridge(2.0).fit(X_WIDE, y).predict(X_WIDE[:3])
    np.testing.assert_allclose(ridge_smoother(X_WIDE, 2.0, X_WIDE[:3]) @ y, ridge)


def test_ridge_smoother_is_the_textbook_formula():
    centred = X_WIDE - X_WIDE.mean(axis=0)
    inner = np.linalg.inv(centred.T @ centred + 5.0 * np.eye(4))
    expected = 1 / 15 + centred @ inner @ centred.T
    np.testing.assert_allclose(ridge_smoother(X_WIDE, 5.0), expected, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: polynomial_smoother(X, 1), ValueError, "1-D"),
        (lambda: polynomial_smoother([1.0, 1.0, 2.0], 2), ValueError, "3 different"),
        (lambda: polynomial_smoother(x, -1), ValueError, "degree"),
        (lambda: polynomial_smoother(x, 1.5), TypeError, "degree"),
        (lambda: ridge_smoother(x, 1.0), ValueError, "2-D"),
        (lambda: ridge_smoother(X, -1.0), ValueError, "alpha"),
        (lambda: ridge_smoother(X, 1.0, X_WIDE), ValueError, "X_test"),
    ],
)
def test_smoothers_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Averages of predictors


def test_variance_of_mean_is_that_of_the_covariance_matrix():
    for rho, s2, B in [(0.3, 2.0, 5), (0.0, 1.0, 4), (1.0, 3.0, 7), (-0.25, 1.0, 5)]:
        covariance = s2 * (rho * np.ones((B, B)) + (1 - rho) * np.eye(B))
        expected = np.ones(B) / B @ covariance @ np.ones(B) / B
        assert variance_of_mean(rho, s2, B) == pytest.approx(expected, abs=1e-15)


def test_variance_of_mean_broadcasts_and_has_its_floor():
    values = variance_of_mean(0.2, 5.0, np.array([1, 10, 10**9]))
    np.testing.assert_allclose(values, [5.0, 1.4, 1.0], rtol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 1.0, 0), "B must be at least 1"),
        ((0.5, -1.0, 2), "s2 is a variance"),
        ((1.5, 1.0, 2), "rho must lie"),
        ((-0.6, 1.0, 3), "rho must lie"),
        ((np.nan, 1.0, 3), "rho contains NaN"),
    ],
)
def test_variance_of_mean_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        variance_of_mean(*arguments)


@given(
    npst.arrays(float, (4, 3), elements=st.floats(-1e3, 1e3)),
    npst.arrays(float, 3, elements=st.floats(-1e3, 1e3)),
)
@settings(deadline=None)
def test_ambiguity_decomposition_holds_for_any_numbers(predictions, target):
    error, ambiguity, error_of_mean = ambiguity_decomposition(predictions, target)
    np.testing.assert_allclose(error, ambiguity + error_of_mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(error, ((predictions - target) ** 2).mean(axis=0))
    assert (ambiguity >= 0).all()


def test_ambiguity_decomposition_by_hand():
    assert ambiguity_decomposition([1.0, 3.0], 0.0) == (5.0, 1.0, 4.0)


@pytest.mark.parametrize("bad", [([], 0.0), (1.0, 1.0), ([[1.0, 2.0]], [1.0])])
def test_ambiguity_decomposition_bad_shapes(bad):
    with pytest.raises(ValueError, match="predictions must have shape"):
        ambiguity_decomposition(*bad)


# PolynomialRegression


@pytest.mark.parametrize("degree", [0, 1, 3, 8])
def test_polynomial_regression_as_numpy(degree):
    y = np.random.default_rng(6).normal(size=15)
    model = PolynomialRegression(degree).fit(X, y)
    x_test = np.linspace(-1.1, 1.1, 7)
    expected = np.polynomial.Polynomial.fit(x, y, degree)(x_test)
    np.testing.assert_allclose(model.predict(x_test[:, np.newaxis]), expected)


def test_polynomial_regression_weights_as_numpy():
    rng = np.random.default_rng(6)
    y, weight = rng.normal(size=15), rng.uniform(0.1, 3, size=15)
    expected = np.polynomial.Polynomial.fit(x, y, 3, w=np.sqrt(weight))(x)
    model = PolynomialRegression(3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), expected)


def test_polynomial_regression_adds_its_features():
    y = 1 + X_WIDE[:, 0] ** 2 - 3 * X_WIDE[:, 1] + X_WIDE[:, 2] ** 3 / 2
    model = PolynomialRegression(3).fit(X_WIDE, y)
    np.testing.assert_allclose(model.predict(X_WIDE), y, atol=1e-10)


@pytest.mark.parametrize(("degree", "error"), [(-1, ValueError), (1.5, TypeError)])
def test_polynomial_regression_bad_degree(degree, error):
    with pytest.raises(error, match="degree must be"):
        PolynomialRegression(degree).fit(X, x)
