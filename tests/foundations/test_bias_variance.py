"""Monte-Carlo against closed forms, exact cases, calibrated errors, and bad input."""

import copy
import functools
import random
import threading
import warnings
from collections import deque, namedtuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeRegressor

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


def standard_errors_by_loops(predictions, f, targets):
    """The three formulas of the docstring, set by set and pair by pair."""
    R, m = predictions.shape
    mean = [sum(predictions[r][k] for r in range(R)) / R for k in range(m)]
    s = [[predictions[r][k] - mean[k] for k in range(m)] for r in range(R)]
    products = [
        sum(s[r][k] * s[q][k] for k in range(m)) / m
        for r in range(R)
        for q in range(R)
        if r != q
    ]
    trace = sum(product**2 for product in products) / (R * (R - 1))
    along = [sum(s[r][k] * (mean[k] - f[k]) for k in range(m)) / m for r in range(R)]
    bCb = sum(value**2 for value in along) / (R - 1) - trace / R
    squared = 4 * max(bCb, 0) / R + 2 * trace / (R * (R - 1))
    spreads = [sum(v**2 for v in row) / m * R / (R - 1) for row in s]
    errors = [
        sum((predictions[r][k] - targets[r][k]) ** 2 for k in range(m)) / m
        for r in range(R)
    ]
    of_mean = [
        sum((v - sum(values) / R) ** 2 for v in values) / (R * (R - 1))
        for values in (spreads, errors)
    ]
    return np.sqrt([squared, *of_mean])


@pytest.mark.parametrize("far", [0.0, 5.0])
@pytest.mark.parametrize(("R", "m"), [(3, 1), (5, 2), (4, 4), (3, 6), (7, 3)])
def test_standard_errors_pair_by_pair(R, m, far):
    predictions, targets = np.random.default_rng(R + m).normal(size=(2, R, m))
    f = np.full(m, far)
    found = decompose(predictions, f, 1.0, targets)
    expected = standard_errors_by_loops(predictions, f, targets)
    np.testing.assert_allclose(
        [found.bias2_se, found.variance_se, found.total_se], expected, rtol=1e-12
    )


def test_standard_errors_by_hand():
    """Fits 0, 3, 6 and the truth 0, on paper: s = -3, 0, 3 and b = 3.

    tr(C^2): one pair of three has a product, 81 twice in 6, so 27. b'Cb: 81 - 27 / 3
    = 72. Together 4 * 72 / 3 + 2 * 27 / 6 = 105. The squared spreads are 27/2, 0, 27/2.
    """
    parts = decompose([[0], [3], [6]], [0], 0, [[0], [3], [6]])
    assert (parts.bias2, parts.variance, parts.total) == (6.0, 9.0, 0.0)
    assert parts.bias2_se**2 == pytest.approx(105, rel=1e-14)
    assert parts.variance_se == pytest.approx(4.5, rel=1e-14)
    assert parts.total_se == 0.0


def test_two_training_sets_say_nothing_about_the_error_of_the_variance():
    with pytest.warns(RuntimeWarning, match="take three or more"):
        parts = bias_variance(Mean(), wave, X, 1.0, n_training_sets=2, random_state=0)
    assert np.isnan(parts.variance_se)
    assert parts.bias2_se > 0 and parts.total_se > 0


# A learner's own randomness


class OneReading:
    """Predicts one reading, picked at random. The dice lie at one of several places."""

    def fit(self, X, y):
        self.prediction = y[self.dice().integers(len(y))]
        return self

    def predict(self, X):
        return np.full(len(X), self.prediction)


class WithSeed(OneReading):
    def __init__(self, seed=0):
        self.random_state = seed

    def dice(self):
        return np.random.default_rng(self.random_state)


class WithGenerator(OneReading):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def dice(self):
        return self.rng


class WithGeneratorAsState(WithGenerator):
    def __init__(self):
        self.random_state = np.random.default_rng(0)

    def dice(self):
        return self.random_state


class WithLegacyGenerator(WithGenerator):
    def __init__(self):
        self.random_state = np.random.RandomState(0)

    def dice(self):
        return np.random.default_rng(self.random_state.randint(2**31 - 1))


class WithPart(OneReading):
    """The dice belong to a part, which lies in a container."""

    def __init__(self, container):
        self.container = container
        self.mine = [self]  # a circle must not trap the search

    def dice(self):
        found = self.container
        while not isinstance(found, (OneReading, np.random.Generator)):
            found = list(found.values())[0] if isinstance(found, dict) else found[-1]
        return found if isinstance(found, np.random.Generator) else found.dice()


class Drawing(OneReading):
    """``draw`` makes a generator out of ``held``, wherever in it the dice lie."""

    def __init__(self, held, draw):
        self.held, self.draw = held, draw

    def dice(self):
        return self.draw(self.held)


class Slots:
    __slots__ = ("random_state", "rng")


def slots(**attributes):
    part = Slots()
    for name, value in attributes.items():
        setattr(part, name, value)
    return part


class CopiesItself:
    """Copies what it holds without deepcopy's memo."""

    def __init__(self, rng):
        self.rng = rng

    def __deepcopy__(self, memo):
        return CopiesItself(copy.deepcopy(self.rng))


def object_array(value):
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


def legacy_normal(state):
    """One reading's number from a normal one, which the generator draws in pairs."""
    return np.random.default_rng(np.float64(state.normal()).view(np.uint64))


def half_used():
    state = np.random.RandomState(0)
    state.normal()  # the second of the pair waits, and must not be handed to all copies
    return state


Pair = namedtuple("Pair", "rng name")
HIDDEN = {
    "namedtuple": lambda: Drawing(
        Pair(np.random.default_rng(0), "a"), lambda held: held.rng
    ),
    "deque": lambda: Drawing(deque([np.random.default_rng(0)]), lambda held: held[0]),
    "set": lambda: Drawing({np.random.default_rng(0)}, lambda held: next(iter(held))),
    "object array": lambda: Drawing(
        object_array(np.random.default_rng(0)), lambda held: held[0]
    ),
    "partial": lambda: Drawing(
        functools.partial(np.random.default_rng(0).integers, 2**31),
        lambda held: np.random.default_rng(held()),
    ),
    "seed in a slot": lambda: Drawing(
        slots(random_state=3), lambda held: np.random.default_rng(held.random_state)
    ),
    "generator in a slot": lambda: Drawing(
        slots(rng=np.random.default_rng(0)), lambda held: held.rng
    ),
    "bit generator": lambda: Drawing(np.random.PCG64(0), np.random.Generator),
    "Philox": lambda: Drawing(
        np.random.Generator(np.random.Philox(0)), lambda held: held
    ),
    "random.Random": lambda: Drawing(
        random.Random(0), lambda held: np.random.default_rng(held.getrandbits(64))
    ),
    "legacy generator, half used": lambda: Drawing(half_used(), legacy_normal),
    "a part that copies itself": lambda: Drawing(
        CopiesItself(np.random.default_rng(0)), lambda held: held.rng
    ),
    "seed in a dictionary": lambda: Drawing(
        {"random_state": 0}, lambda held: np.random.default_rng(held["random_state"])
    ),
}
LEARNERS = {
    "seed": WithSeed,
    "list as seed": lambda: WithSeed([3, 4]),
    "generator": WithGenerator,
    "generator as random_state": WithGeneratorAsState,
    "legacy generator": WithLegacyGenerator,
    "part in a list": lambda: WithPart([WithSeed()]),
    "part in tuples": lambda: WithPart([("a", WithSeed())]),
    "part in a dictionary": lambda: WithPart({"a": WithGenerator()}),
    "generator in a list": lambda: WithPart([np.random.default_rng(0)]),
    "generator in a tuple": lambda: WithPart((1, np.random.default_rng(0))),
}


@pytest.mark.parametrize("place", LEARNERS)
def test_own_randomness_counts_as_variance(place):
    """Exact: the reading's noise and the spread of f; bias is that of the mean."""
    measured = bias_variance(
        LEARNERS[place](), wave, X, SIGMA, n_training_sets=3000, random_state=0
    )
    f = wave(X)
    exact = f.var(), SIGMA**2 + f.var()
    assert abs(measured.bias2 - exact[0]) < 4 * measured.bias2_se < 0.15
    assert abs(measured.variance - exact[1]) < 4 * measured.variance_se < 0.1


@pytest.mark.parametrize("place", LEARNERS)
def test_own_randomness_is_renewed_in_the_copies_only(place):
    learner = LEARNERS[place]()
    before = learner.dice().bit_generator.state if place != "legacy generator" else 0
    first = bias_variance(learner, wave, X, SIGMA, random_state=4)
    again = bias_variance(learner, wave, X, SIGMA, random_state=4)
    np.testing.assert_array_equal(first.predictions, again.predictions)
    if place != "legacy generator":
        assert learner.dice().bit_generator.state == before


def test_only_what_was_copied_is_changed_and_none_stays_none():
    def shared(y):
        return y.mean()

    class Careful(Mean):
        def __init__(self):
            self.random_state = None
            self.average, self.kind = shared, OneReading

        def fit(self, X, y):
            assert self.random_state is None
            return super().fit(X, y)

    shared.random_state = OneReading.random_state = 7
    try:
        bias_variance(Careful(), wave, X, SIGMA, n_training_sets=3, random_state=0)
        assert (shared.random_state, OneReading.random_state) == (7, 7)
    finally:
        del OneReading.random_state


@pytest.mark.parametrize("place", HIDDEN)
def test_dice_are_renewed_wherever_they_lie(place):
    """Without noise: bias is that of the mean, variance the spread of f, exactly."""
    learner, f = HIDDEN[place](), wave(X)
    measured = bias_variance(
        learner, wave, X, 0.0, n_training_sets=400, random_state=0
    )
    assert abs(measured.variance - f.var()) < 4 * measured.variance_se < 0.25 * f.var()
    # the caller's own dice have not been thrown
    assert learner.dice().integers(2**40) == HIDDEN[place]().dice().integers(2**40)


def test_a_part_that_is_not_copied_is_the_callers():
    class Shared:
        def __init__(self):
            self.random_state, self.rng = 7, np.random.default_rng(0)

        def __deepcopy__(self, memo):
            return self

    shared = Shared()
    class HandsOn:
        def __init__(self, rng):
            self.rng = rng

        def __deepcopy__(self, memo):
            return HandsOn(self.rng)

    handed = Drawing(HandsOn(shared.rng), lambda held: held.rng)
    bias_variance(handed, wave, X, SIGMA, n_training_sets=3, random_state=0)
    learner = Drawing(shared, lambda held: np.random.default_rng(held.random_state))
    bias_variance(learner, wave, X, SIGMA, n_training_sets=3, random_state=0)
    assert shared.random_state == 7
    untouched = np.random.default_rng(0).bit_generator.state
    assert shared.rng.bit_generator.state == untouched


def test_a_list_of_seeds_to_choose_from_is_no_seed():
    search = GridSearchCV(ExtraTreeRegressor(), {"random_state": [0, 1]}, cv=2)
    measured = bias_variance(search, wave, X, SIGMA, n_training_sets=3, random_state=0)
    assert measured.variance > 0


def test_one_seed_takes_one_number_of_the_stream():
    """Neither the draft of the attributes that deepcopy makes takes one, nor None."""

    class Seen(Mean):
        seeds = []

        def __init__(self):
            self.random_state, self.other = 5, slots(random_state=None)

        def fit(self, X, y):
            self.seeds.append(self.random_state)
            return super().fit(X, y)

    rng, expected = np.random.default_rng(5), []
    for _ in range(3):
        expected.append(int(rng.integers(2**32, dtype=np.int64)))
        rng.normal(size=15)
    bias_variance(Seen(), wave, X, SIGMA, n_training_sets=3, random_state=5)
    assert Seen.seeds == expected


def test_a_generator_and_its_source_are_renewed_once():
    """The copies' draws are those of a new generator, seeded by one number."""

    class Seen(Mean):
        draws = []

        def __init__(self):
            self.rng = np.random.default_rng(0)
            self.source = self.rng.bit_generator

        def fit(self, X, y):
            assert self.rng.bit_generator is self.source
            self.draws.append(self.rng.normal())
            return super().fit(X, y)

    rng, expected = np.random.default_rng(5), []
    for _ in range(3):
        seed = int(rng.integers(2**32, dtype=np.int64))
        expected.append(np.random.default_rng(seed).normal())
        rng.normal(size=15)
    bias_variance(Seen(), wave, X, SIGMA, n_training_sets=3, random_state=5)
    assert Seen.draws == expected


def test_parts_that_share_a_generator_go_on_sharing_one():
    class Two(OneReading):
        def __init__(self):
            self.mine = np.random.default_rng(0)
            self.yours = [self.mine]

        def dice(self):
            assert self.mine is self.yours[0]
            return self.mine

    bias_variance(Two(), wave, X, SIGMA, n_training_sets=3, random_state=0)


@pytest.mark.parametrize("pipeline", [False, True])
def test_random_tree_as_by_plain_averages(pipeline):
    """scikit-learn's ExtraTree cuts at random; its seed 0 must not stay 0."""

    def tree(seed):
        learner = ExtraTreeRegressor(max_depth=2, random_state=seed)
        return make_pipeline(StandardScaler(), learner) if pipeline else learner

    rng = np.random.default_rng(1)
    fits = np.array([
        tree(seed).fit(X, wave(X) + SIGMA * rng.normal(size=15)).predict(X)
        for seed in range(1000)
    ])
    measured = bias_variance(tree(0), wave, X, SIGMA, random_state=0)
    squares = ((fits - fits.mean(axis=0)) ** 2).mean(axis=1)
    limit = 4 * np.hypot(squares.std() / np.sqrt(1000), measured.variance_se)
    assert abs(measured.variance - squares.mean()) < limit < 0.3 * squares.mean()


def test_learner_without_dice_meets_the_noise_it_always_met():
    """The noise is the generator's own stream, set by set."""
    rng = np.random.default_rng(5)
    expected = [np.mean(wave(X) + SIGMA * rng.normal(size=15)) for _ in range(4)]
    measured = bias_variance(Mean(), wave, X, SIGMA, n_training_sets=4, random_state=5)
    np.testing.assert_array_equal(measured.predictions[:, 0], expected)


# How it treats its arguments


def test_the_copy_is_deep():
    class Collecting(Mean):
        def __init__(self):
            self.seen = []

        def fit(self, X, y):
            self.seen.append(y)
            return super().fit(X, y)

    estimator = Collecting()
    bias_variance(estimator, wave, X, SIGMA, random_state=0)
    assert estimator.seen == []


def test_predictions_are_a_copy():
    predictions = np.array([[0.0], [3.0], [6.0]])
    parts = decompose(predictions, [0.0], 1.0, predictions)
    predictions[:] = 7.0
    assert parts.predictions.ravel().tolist() == [0.0, 3.0, 6.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16])
def test_sigma_of_a_small_type_is_squared_as_float64(dtype):
    sigma = dtype(300)
    assert linear_smoother_bias_variance([[1.0]], [0.0], sigma).variance == 90000.0
    parts = decompose(np.ones((3, 1)), [1.0], sigma, np.ones((3, 1)))
    assert parts.noise == 90000.0 and isinstance(parts.noise, float)
    small = bias_variance(Mean(), wave, X, dtype(3), random_state=0)
    assert small.total == bias_variance(Mean(), wave, X, 3.0, random_state=0).total


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
    with pytest.warns(RuntimeWarning, match="variance_se is NaN"):
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
    # b'Cb / m^2 = 1/2, less tr(C^2) / (m^2 R) = 1/4 / 2: 4 (3/8) / 2 + 2 (1/4) / 2 = 1
    assert parts.bias2_se == 1.0
    assert np.isnan(parts.variance_se)


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
        ({"sigma": 1e200}, ValueError, r"sigma must be finite .* <= 1e\+150"),
        ({"sigma": True}, TypeError, "sigma must be a number"),
        ({"predictions": [[1e200, 0], [0, 0]]}, ValueError, "predictions must lie bet"),
        ({"f": [0.0, -1e151]}, ValueError, "f must lie between -1e150 and 1e150"),
        ({"new_targets": [[0, 0], [0, 1e151]]}, ValueError, "new_targets must lie"),
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


def huge(X):
    return np.full(len(X), 1e200)


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
        ({"sigma": True}, TypeError, "sigma must be a number"),
        ({"sigma": 1e151}, ValueError, r"sigma must be finite .* <= 1e\+150"),
        ({"n_training_sets": True}, TypeError, "n_training_sets must be a whole"),
        ({"true_function": huge}, ValueError, r"true_function\(X\) must lie between"),
        ({"n_training_sets": 1}, ValueError, "n_training_sets must be >= 2, got 1"),
        ({"n_training_sets": 2.5}, TypeError, "must be a whole number, got 2.5"),
        ({"estimator": NoPrediction()}, ValueError, r"predict\(X_test\) contains NaN"),
        ({"estimator": LongPrediction()}, ValueError, r"\(15,\), got \(16,\)"),
        ({"estimator": ColumnPrediction()}, ValueError, r"\(15,\), got \(15, 1\)"),
        ({"estimator": Mean}, TypeError, "an instance with fit and predict"),
        ({"estimator": object()}, TypeError, "an instance with fit and predict"),
        ({"true_function": 3}, TypeError, "true_function must be callable"),
        ({"true_function": np.sin}, ValueError, r"return shape \(15,\).*\(15, 1\)"),
        ({"true_function": infinite}, ValueError, r"true_function\(X\) contains inf"),
        ({"X": x}, ValueError, r"X must be a 2-D array .* got shape \(15,\)"),
        ({"X": X[:0]}, ValueError, "n >= 1"),
        ({"X": np.full((3, 1), np.inf)}, ValueError, "X contains"),
        ({"X_test": X_WIDE}, ValueError, r"X_test must be .*\(n, 1\).*\(15, 4\)"),
        ({"redraw": 3}, TypeError, "redraw must be None or a callable"),
        ({"redraw": lambda rng: x}, ValueError, r"redraw\(generator\) must be a 2-D"),
        ({"redraw": lambda rng: X_WIDE}, ValueError, r"generator\) .* \(15, 4\)"),
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


def test_linear_smoother_at_other_points_by_hand():
    """Three test points, two readings."""
    S = [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    exact = linear_smoother_bias_variance(S, (2, 4), 1, f_test=(0, 1, 2))
    assert exact.bias.tolist() == [3.0, 1.0, -2.0]
    assert exact.pointwise_bias2.tolist() == [9.0, 1.0, 4.0]
    assert exact.pointwise_variance.tolist() == [0.5, 1.0, 0.0]
    assert exact.bias2 == pytest.approx(14 / 3, rel=1e-15)
    assert (exact.variance, exact.noise) == (0.5, 1.0)
    assert exact.total == pytest.approx(14 / 3 + 1.5, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(3), np.ones(2), 1.0), r"S \(3, 3\), f \(2,\)"),
        (([[1e200]], [1e200], 1.0), "does not fit into float64"),
        (([[1e200]], [0.0], 1.0), "does not fit into float64"),
        (([[1.0]], [1.0], 1e151), "sigma must be finite"),
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


def exact_smoother(x, degree, x_test):
    """In fractions: the projection by orthogonal polynomials, without any root."""
    x, x_test = [[Fraction(float(v)) for v in values] for values in (x, x_test)]
    S = [[Fraction(0)] * len(x) for _ in x_test]
    basis = []
    on, off = [Fraction(1)] * len(x), [Fraction(1)] * len(x_test)
    for _ in range(degree + 1):
        for p, p_off, length in basis:
            share = sum(a * b for a, b in zip(on, p)) / length
            on = [a - share * b for a, b in zip(on, p)]
            off = [a - share * b for a, b in zip(off, p_off)]
        length = sum(a * a for a in on)
        basis.append((on, off, length))
        for k, b in enumerate(off):
            S[k] = [s + b * a / length for s, a in zip(S[k], on)]
        on = [a * v for a, v in zip(on, x)]
        off = [a * v for a, v in zip(off, x_test)]
    return np.array(S, dtype=float)


@pytest.mark.parametrize(("n", "degree"), [(6, 2), (15, 9), (20, 19), (24, 20)])
def test_polynomial_smoother_in_fractions(n, degree):
    x = np.linspace(-1, 1, n).round(3)
    x_test = np.array([-1.0, 0.03125, 0.97, 1.25])
    expected = exact_smoother(x, degree, x_test)
    off = np.abs(polynomial_smoother(x, degree, x_test) - expected)
    assert (off.max(axis=1) <= 1e-11 * np.abs(expected).max(axis=1)).all()


@pytest.mark.parametrize("n", [1, 2, 12, 24, 30])
def test_polynomial_smoother_through_all_points_is_the_identity(n):
    S = polynomial_smoother(np.arange(float(n)), n - 1)
    np.testing.assert_allclose(S, np.eye(n), atol=1e-9)


@pytest.mark.parametrize("n", [33, 41, 52, 81])
def test_polynomial_smoother_refuses_what_it_cannot_do(n):
    with pytest.raises(ValueError, match="take a lower degree, more inputs"):
        polynomial_smoother(np.linspace(-1, 1, n), n - 1)
    assert np.trace(polynomial_smoother(np.linspace(-1, 1, n), 20)) == pytest.approx(21)


def test_polynomial_smoother_at_extreme_scales():
    """S does not change when x is shifted and stretched."""
    plain, x_test = polynomial_smoother(np.arange(5.0), 3), np.array([0.5, 2.5])
    shifted = polynomial_smoother(1e6 + 1e-3 * np.arange(5.0), 3)
    np.testing.assert_allclose(shifted, plain, atol=1e-6)
    for scale in (1e-200, 1e200, 4e307):
        S = polynomial_smoother(scale * np.arange(5.0), 3)
        np.testing.assert_allclose(S, plain, atol=1e-13)
        S = polynomial_smoother(scale * np.arange(5.0), 3, scale * x_test)
        expected = polynomial_smoother(np.arange(5.0), 3, x_test)
        np.testing.assert_allclose(S, expected, atol=1e-13)
    widest = polynomial_smoother([-1.7e308, 0.0, 1.7e308], 1)
    np.testing.assert_allclose(widest, polynomial_smoother([-1.0, 0, 1], 1), atol=1e-14)


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
        (lambda: polynomial_smoother([1.0, 1.0, 2.0], 2), ValueError, "3 or more diff"),
        (lambda: polynomial_smoother([], 0), ValueError, "1 or more diff.* got 0"),
        (lambda: polynomial_smoother(x, 2, []), ValueError, "x_test must hold at leas"),
        (lambda: polynomial_smoother(x, 2, [1e200]), ValueError, "evaluate it nearer"),
        (lambda: polynomial_smoother([0, 1, 1 + 1e-12], 2), ValueError, "lower degree"),
        (lambda: polynomial_smoother(x, True), TypeError, "degree"),
        (lambda: ridge_smoother(X, True), TypeError, "alpha"),
        (lambda: ridge_smoother(1.7e308 * X, 1.0), ValueError, "does not fit into fl"),
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


@pytest.mark.parametrize("B", [2, 3, 4, 7, 10, 50, 999, 10**9])
def test_variance_of_mean_at_the_lowest_correlation(B):
    """B variables that sum to a constant: nothing is left, and nothing below it."""
    assert 0 <= variance_of_mean(-1 / (B - 1), 1.0, B) < 1e-15
    if B > 2:  # by rounding below the limit: exactly nothing is left
        assert variance_of_mean(np.nextafter(-1 / (B - 1), -1), 1.0, B) == 0.0


def test_variance_of_mean_does_not_overflow():
    assert variance_of_mean(0.5, 1.5e308, 10**9) == pytest.approx(0.75e308)
    assert variance_of_mean(-1.0, 1.5e308, 1) == 1.5e308


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.5, 1.0, 0), ValueError, "B must be at least 1 predictor, got 0"),
        ((0.5, 1.0, 2.5), TypeError, "B must be a whole number"),
        ((0.5, 1.0, True), TypeError, "B must be a whole number"),
        ((0.5, -1.0, 2), ValueError, "s2 is a variance and must be >= 0, got -1"),
        ((1.5, 1.0, 2), ValueError, "rho must lie between -1 and 1 for B = 2 .* 1.5"),
        ((1.0000001, 1.0, 2), ValueError, "rho must lie"),
        ((-2.0, 1.0, 1), ValueError, "rho must lie between -1 and 1 for B = 1"),
        ((-0.6, 1.0, 3), ValueError, "rho must lie between -0.5 and 1 for B = 3"),
        ((-0.2500001, 1.0, 5), ValueError, "rho must lie"),
        (([0.5, -0.6], 1.0, [9, 3]), ValueError, "B = 3 predictors, got -0.6"),
        ((np.nan, 1.0, 3), ValueError, "rho contains NaN"),
    ],
)
def test_variance_of_mean_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
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


def test_ambiguity_decomposition_refuses_what_overflows():
    with pytest.raises(ValueError, match="predictions must lie between"):
        ambiguity_decomposition([1e200, 0.0], 0.0)


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


def test_polynomial_regression_coefficients_and_scales_of_each_feature():
    """T_2 of the first feature and 3 T_1 of the second, whose ranges differ."""
    rng = np.random.default_rng(3)
    z = np.vstack([rng.uniform(-1, 1, size=(20, 2)), [[-1, 1], [1, -1]]])
    features = z * [1e4, 1e-4] + [5e4, -7.0]
    model = PolynomialRegression(2).fit(features, 2 * z[:, 0] ** 2 - 1 + 3 * z[:, 1])
    np.testing.assert_allclose(model.coef_, [0, 0, 1, 3, 0], atol=1e-9)
    np.testing.assert_array_equal(model.low_, features.min(axis=0))
    np.testing.assert_array_equal(model.high_, features.max(axis=0))


def test_polynomial_regression_predicts_with_the_degree_it_was_fitted_with():
    model = PolynomialRegression(4).fit(X, wave(X))
    expected = model.predict(X)
    np.testing.assert_array_equal(model.set_params(degree=1).predict(X), expected)


def test_constant_feature_contributes_nothing():
    y = np.random.default_rng(2).normal(size=15)
    alone = PolynomialRegression(3).fit(X, y)
    beside = PolynomialRegression(3).fit(np.column_stack([np.full(15, 7.0), X]), y)
    np.testing.assert_allclose(beside.coef_[[0, 4, 5, 6]], alone.coef_, atol=1e-14)
    np.testing.assert_allclose(beside.coef_[1:4], 0, atol=1e-15)
    elsewhere = np.column_stack([np.linspace(-1e300, 1e300, 15), X])
    np.testing.assert_allclose(beside.predict(elsewhere), alone.predict(X), atol=1e-13)


@pytest.mark.parametrize(
    ("degree", "error", "message"),
    [
        (-1, ValueError, "degree must be >= 0"),
        (1.5, TypeError, "degree must be a whole number"),
        (True, TypeError, "degree must be a whole number"),
        (10**7, ValueError, "more than 100000 columns: lower it to 99999 or less"),
        (100_000, ValueError, "lower it to 99999"),
    ],
)
def test_polynomial_regression_bad_degree(degree, error, message):
    with pytest.raises(error, match=message):
        PolynomialRegression(degree).fit(X, x)


def test_polynomial_regression_refuses_what_overflows():
    model = PolynomialRegression(3).fit(X, x)
    with pytest.raises(ValueError, match="does not fit into float64 so far outside"):
        model.predict([[1e200]])
    steep = PolynomialRegression(1).fit(X, 1e300 * x)
    with pytest.raises(ValueError, match="a prediction does not fit"):
        steep.predict([[1e100]])


def test_nothing_warns_on_the_way_to_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda: PolynomialRegression(5).fit(X, x).predict([[1e300]]),
            lambda: linear_smoother_bias_variance([[1e200]], [1e200], 1.0),
            lambda: ridge_smoother(1.7e308 * X, 1.0),
        ):
            with pytest.raises(ValueError):
                call()


def test_ridge_smoother_with_a_constant_column():
    z = np.linspace(-1, 1, 15)
    X = np.column_stack([np.full(15, 2026.3), z])
    for alpha in (0.0, 1e-30, 1.0):
        S = ridge_smoother(X, alpha)
        np.testing.assert_allclose(S, ridge_smoother(z[:, np.newaxis], alpha), atol=1e-13)
        np.testing.assert_allclose(S.sum(axis=1), 1)
    assert ridge_smoother(np.full((15, 1), 0.1), 0.0)[0, 0] == pytest.approx(1 / 15)


def test_a_polynomial_that_rounding_cuts_short_warns():
    x = np.linspace(-1, 1, 81)[:, np.newaxis]
    y = np.random.default_rng(0).normal(size=81)
    with pytest.warns(RuntimeWarning, match="lower the degree"):
        PolynomialRegression(80).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PolynomialRegression(12).fit(x, y)
        PolynomialRegression(80).fit(x[:5], y[:5])  # five rows determine five


def test_small_directions_that_the_rows_determine_are_kept():
    """Two nearly equal columns: the cut of lstsq lies at rounding, not at 1e-9."""
    x = np.linspace(-1, 1, 24)[:, np.newaxis]
    y = np.random.default_rng(1).normal(size=24)
    np.testing.assert_allclose(PolynomialRegression(23).fit(x, y).predict(x), y, atol=1e-7)


@pytest.mark.parametrize("heavy", [(0, 1), (7, 8), (13, 14)])
def test_heavy_rows_do_not_drown_light_ones(heavy):
    """Two exact points, thirteen free: a line through the two, and a factor for it."""
    y, weight = np.random.default_rng(0).normal(size=15), np.ones(15)
    weight[list(heavy)] = 1e26
    a, b = x[list(heavy)]
    line = y[heavy[0]] + (y[heavy[1]] - y[heavy[0]]) * (x - a) / (b - a)
    columns = ((x - a) * (x - b))[:, np.newaxis] * [[1.0, 0.0]] + 0.0
    columns[:, 1] = columns[:, 0] * x
    expected = line + columns @ np.linalg.lstsq(columns, y - line, rcond=None)[0]
    model = PolynomialRegression(3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-11)


def test_directions_far_below_the_largest_are_kept():
    """Four points, three of them 1e-5 apart: a cubic still goes through all four."""
    points = np.array([[-1.0], [-1 + 1e-5], [-1 + 2e-5], [1.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0])
    model = PolynomialRegression(3).fit(points, y)
    np.testing.assert_allclose(model.predict(points), y, atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-5, 1.0])
def test_ridge_smoother_with_each_column_twice(alpha):
    """Two equal columns are one with half the penalty, where the SVD solves as well."""
    twice = ridge_smoother(np.column_stack([X_WIDE, X_WIDE]), alpha)
    once = ridge_smoother(X_WIDE, alpha / 2)
    np.testing.assert_allclose(twice, once, atol=1e-13)
    y = np.random.default_rng(1).normal(size=15)
    model = Ridge(alpha).fit(np.column_stack([X_WIDE, X_WIDE]), y)
    predicted = model.predict(np.column_stack([X_WIDE, X_WIDE]))
    np.testing.assert_allclose(twice @ y, predicted, atol=1e-13)


def test_small_factors_of_a_variance_do_not_vanish_before_they_meet():
    exact = linear_smoother_bias_variance([[1e150]], [0.0], 1e-165)
    assert exact.variance == pytest.approx(1e-30, rel=1e-14, abs=0)


def test_what_returns_none_or_cannot_be_copied_is_named():
    class Forgetful(Mean):
        def predict(self, X):
            pass

    with pytest.raises(ValueError, match="true_function returned None: it must return"):
        bias_variance(Mean(), lambda X: None, X, SIGMA)
    with pytest.raises(ValueError, match="predict returned None: it must return shape"):
        bias_variance(Forgetful(), wave, X, SIGMA)
    with pytest.raises(TypeError, match="that copy.deepcopy can copy, because each"):
        bias_variance(Drawing(threading.Lock(), None), wave, X, SIGMA)


def test_variance_of_mean_forgives_rounding_above_one():
    assert variance_of_mean(1 + 2.3e-16, 2.0, 3) == 2.0
    assert variance_of_mean(1 + 5e-13, 1.0, 10**9) == 1.0
    with pytest.raises(ValueError, match="whose shapes broadcast, got shapes"):
        variance_of_mean([0.1, 0.2], [1.0, 2.0, 3.0], 3)
    with pytest.raises(TypeError, match="that fits into int64, got object 1000"):
        variance_of_mean(0.5, 1.0, 10**30)
