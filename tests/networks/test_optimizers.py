"""The optimizers against torch.optim, the formulas' consequences, and bad input.

``reference/optimizers.json`` holds what torch.optim does in 50 steps;
``reference/make_optimizers.py`` made it.
"""

import copy
import json
import pickle
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from mlbook.networks import optimizers
from mlbook.networks.optimizers import (
    SGD,
    AdaGrad,
    Adam,
    AdamW,
    Momentum,
    Nesterov,
    RMSProp,
    adam_step,
)

REFERENCE = json.loads(
    Path(__file__).with_name("reference").joinpath("optimizers.json").read_text()
)
ALL = [SGD, Momentum, Nesterov, AdaGrad, RMSProp, Adam, AdamW]
ADAPTIVE = [AdaGrad, RMSProp, Adam]
RUNS = [
    pytest.param(run, id=f"{run['optimizer']}-{number % 2}")
    for number, run in enumerate(REFERENCE["runs"])
]


def make(run):
    return getattr(optimizers, run["optimizer"])(**run["parameters"])


def path_of(optimizer, start, gradient, steps):
    """The parameters after each step; ``gradient`` takes (step number, parameters)."""
    w = np.array(start, dtype=float)
    path = []
    for t in range(steps):
        optimizer.step(w, gradient(t, w))
        path.append(w.copy())
    return np.array(path)


def assert_paths_agree(path, expected):
    expected = np.array(expected)
    assert path.shape == expected.shape
    error = np.abs(path - expected) / np.maximum(np.abs(expected), 1)
    worst = np.unravel_index(error.argmax(), error.shape)
    assert error[worst] < 1e-12, f"step {worst[0] + 1}, parameter {worst[1]}"


# Against torch


@pytest.mark.parametrize("run", RUNS)
def test_fixed_gradients_as_torch(run):
    gradients = np.array(REFERENCE["gradients"])
    path = path_of(make(run), REFERENCE["start"], lambda t, w: gradients[t], 50)
    assert_paths_agree(path, run["fixed"])


@pytest.mark.parametrize("run", RUNS)
def test_bowl_as_torch(run):
    curvature = np.array(REFERENCE["bowl"]["curvature"])
    start = REFERENCE["bowl"]["start"]
    path = path_of(make(run), start, lambda t, w: curvature * w, 50)
    assert_paths_agree(path, run["bowl"])


def test_reference_covers_every_optimizer_twice():
    names = [run["optimizer"] for run in REFERENCE["runs"]]
    assert sorted(names) == sorted(2 * [cls.__name__ for cls in ALL])
    assert all(np.shape(run["fixed"]) == (50, 3) for run in REFERENCE["runs"])
    assert all(np.shape(run["bowl"]) == (50, 2) for run in REFERENCE["runs"])


# What the formulas imply


def exact_steps(cls, gradients):
    """Steps 1, 2, ... of a method without roots, in exact rational arithmetic."""
    velocity, path, w = Fraction(0), [], Fraction(1)
    lr, mu = Fraction(1, 8), Fraction(3, 4)
    for g in map(Fraction, gradients):
        velocity = mu * velocity + g
        w -= lr * {SGD: g, Momentum: velocity, Nesterov: g + mu * velocity}[cls]
        path.append(float(w))
    return path


@pytest.mark.parametrize("cls", [SGD, Momentum, Nesterov])
def test_exact_in_binary_fractions(cls):
    """With short binary fractions nothing rounds, so equality is exact."""
    gradients = [1.0, -0.5, 2.0, 0.25, -3.0]
    optimizer = cls(0.125) if cls is SGD else cls(0.125, momentum=0.75)
    path = path_of(optimizer, [1.0], lambda t, w: [gradients[t]], 5)
    assert path.ravel().tolist() == exact_steps(cls, gradients)


def test_nesterov_is_the_look_ahead_method():
    """The textbook form takes its gradient ahead of the point, at w - lr mu v."""
    curvature, lr, mu = np.array([1.0, 10.0]), 0.05, 0.8
    point, velocity = np.array([3.0, -2.0]), np.zeros(2)
    ahead = point.copy()
    optimizer = Nesterov(lr, mu)
    for _ in range(20):
        optimizer.step(ahead, curvature * ahead)
        velocity = mu * velocity + curvature * (point - lr * mu * velocity)
        point = point - lr * velocity
        np.testing.assert_allclose(ahead, point - lr * mu * velocity, rtol=1e-11)


def test_adagrad_steps_fall_as_one_over_root_t():
    optimizer = AdaGrad(learning_rate=0.5, epsilon=0.0)
    path = path_of(optimizer, [0.0], lambda t, w: [4.0], 30).ravel()
    np.testing.assert_allclose(
        -np.diff(path, prepend=0.0), 0.5 / np.sqrt(np.arange(1, 31)), rtol=1e-12
    )


def test_adam_on_a_constant_gradient_moves_by_the_learning_rate():
    path = path_of(Adam(learning_rate=0.001), [0.0], lambda t, w: [1.0], 100).ravel()
    np.testing.assert_allclose(path, -0.001 * np.arange(1, 101), rtol=1e-7)


def test_first_step_by_hand():
    """m_hat = g and v_hat = g^2 at t = 1, so the step is 0.1 * 2 / (2 + 0.5)."""
    optimizer, w = Adam(learning_rate=0.1, epsilon=0.5), np.zeros(1)
    optimizer.step(w, [2.0])
    assert w[0] == pytest.approx(-0.08, rel=1e-14)
    assert optimizer.m[0] == pytest.approx(0.2) and optimizer.t == 1
    assert optimizer.v[0] == pytest.approx(0.004)


@given(
    npst.arrays(
        float,
        st.integers(1, 6),
        elements=st.floats(-1e6, 1e6).filter(lambda g: g == 0 or abs(g) > 1e-6),
    ),
    st.floats(1e-4, 10),
)
@settings(deadline=None)
def test_first_adam_step_is_the_sign(gradient, learning_rate):
    w = np.zeros_like(gradient)
    Adam(learning_rate, epsilon=0.0).step(w, gradient)
    np.testing.assert_allclose(w, -learning_rate * np.sign(gradient), rtol=1e-12)


BETAS = [(0.9, 0.999), (0.5, 0.5), (0.0, 0.9), (0.9, 0.0), (0.99, 0.9)]


@pytest.mark.parametrize(("beta1", "beta2"), BETAS)
def test_moments_are_the_unrolled_sums(beta1, beta2):
    gradients = np.random.default_rng(3).normal(size=(40, 4))
    optimizer, w = Adam(beta1=beta1, beta2=beta2), np.zeros(4)
    for t in range(1, 41):
        optimizer.step(w, gradients[t - 1])
        age = np.arange(t)[::-1]
        m = (1 - beta1) * beta1**age @ gradients[:t]
        v = (1 - beta2) * beta2**age @ gradients[:t] ** 2
        np.testing.assert_allclose(optimizer.m, m, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(optimizer.v, v, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("cls", ADAPTIVE)
def test_scale_of_the_gradient_does_not_matter_without_epsilon(cls):
    gradients = np.random.default_rng(5).normal(size=(30, 3))
    paths = {
        scale: path_of(
            cls(epsilon=0.0), np.zeros(3), lambda t, w: scale * gradients[t], 30
        )
        for scale in (1.0, 1e-6, 3.0, 1e8)
    }
    for path in paths.values():
        np.testing.assert_allclose(path, paths[1.0], rtol=1e-11)


def ratio_bound(beta1, beta2):
    """Cauchy-Schwarz: the largest |m_t| / sqrt(v_t) of any gradients, b1^2 < b2."""
    return (1 - beta1) / np.sqrt((1 - beta2) * (1 - beta1**2 / beta2))


def largest_ratio(gradients, beta1, beta2):
    optimizer = Adam(beta1=beta1, beta2=beta2)
    w, ratio = np.zeros(1), 0.0
    for g in gradients:
        optimizer.step(w, [g])
        if optimizer.v[0] > 0:
            ratio = max(ratio, float(abs(optimizer.m[0]) / np.sqrt(optimizer.v[0])))
    return ratio


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    st.sampled_from([(0.9, 0.999), (0.5, 0.9), (0.0, 0.5), (0.8, 0.7)]),
)
@settings(deadline=None)
def test_ratio_stays_below_the_bound(gradients, betas):
    assert largest_ratio(gradients, *betas) <= ratio_bound(*betas) * (1 + 1e-9)


@pytest.mark.parametrize(("beta1", "beta2"), [(0.9, 0.999), (0.5, 0.9), (0.8, 0.7)])
def test_ratio_reaches_the_bound_on_growing_gradients(beta1, beta2):
    """Equality in Cauchy-Schwarz needs gradients that grow like (b2 / b1)^t."""
    growing = (beta2 / beta1) ** np.arange(-400.0, 1.0)
    bound = ratio_bound(beta1, beta2)
    assert bound * 0.999 < largest_ratio(growing, beta1, beta2) <= bound * (1 + 1e-9)


def test_adam_step_far_beyond_the_often_quoted_bound():
    """(1 - b1) / sqrt(1 - b2) = 3.16 learning rates is no bound: this takes 7."""
    optimizer, w = Adam(learning_rate=1.0, epsilon=0.0), np.zeros(1)
    for g in (0.999 / 0.9) ** np.arange(-3000.0, 1.0):
        before = w[0]
        optimizer.step(w, [g])
    bound = ratio_bound(0.9, 0.999)
    assert bound == pytest.approx(7.27, abs=0.01)
    assert 7.0 < before - w[0] < bound


def test_a_single_gradient_after_zeros_obeys_the_quoted_bound():
    optimizer, w = Adam(learning_rate=1.0, epsilon=0.0), np.zeros(1)
    for g in [0.0] * 5000 + [1.0]:
        optimizer.step(w, [g])
    assert -w[0] == pytest.approx(0.1 / np.sqrt(0.001), rel=0.01)


def test_adamw_decay_is_not_divided_by_the_gradient_scale():
    """Without a gradient AdamW shrinks by exactly (1 - learning_rate weight_decay)."""
    w = np.array([4.0, -2.0])
    AdamW(learning_rate=0.1, weight_decay=0.5).step(w, np.zeros(2))
    np.testing.assert_allclose(w, [3.8, -1.9], rtol=1e-15)


def test_adamw_without_decay_is_adam():
    gradients = np.random.default_rng(1).normal(size=(20, 2))
    adam = path_of(Adam(), [1.0, 2.0], lambda t, w: gradients[t], 20)
    adamw = path_of(
        AdamW(weight_decay=0.0), [1.0, 2.0], lambda t, w: gradients[t], 20
    )
    np.testing.assert_array_equal(adamw, adam)


@pytest.mark.parametrize("cls", ADAPTIVE + [AdamW])
def test_zero_gradients_without_epsilon_move_nothing(cls):
    zero_decay = {"weight_decay": 0.0} if cls is AdamW else {}
    optimizer, w = cls(epsilon=0.0, **zero_decay), np.array([1.0, -1.0])
    optimizer.step(w, [0.0, 0.0])
    assert w.tolist() == [1.0, -1.0]
    optimizer.step(w, [0.0, 2.0])
    assert w[0] == 1.0 and w[1] < -1.0


# How they work


@pytest.mark.parametrize("cls", ALL)
def test_updates_a_view_in_place(cls):
    everything = np.arange(10.0)
    cls(learning_rate=0.1).step(everything[2:8:2], np.ones(3))
    moved = everything != np.arange(10.0)
    assert moved.nonzero()[0].tolist() == [2, 4, 6]


@pytest.mark.parametrize("cls", ALL)
def test_no_memory_per_step(cls):
    w, gradient = np.ones(100_000), np.full(100_000, 0.5)
    optimizer = cls()
    optimizer.step(w, gradient)
    tracemalloc.start()
    optimizer.step(w, gradient)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000, "a temporary as large as the parameters was made"


@pytest.mark.parametrize("cls", ALL)
def test_gradient_is_left_alone_even_when_it_is_the_parameters(cls):
    w, gradient = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    frozen = gradient.copy()
    frozen.flags.writeable = False
    optimizer, twin = cls(learning_rate=0.1), cls(learning_rate=0.1)
    other = w.copy()
    for _ in range(3):
        optimizer.step(w, w)  # the gradient of |w|^2 / 2 is w itself
        twin.step(other, other.copy())
    np.testing.assert_array_equal(w, other)
    cls().step(np.array([1.0, 2.0]), frozen)
    assert frozen.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("cls", ALL)
def test_count_reset_and_copies(cls):
    gradients = np.random.default_rng(2).normal(size=(6, 2))
    optimizer, w = cls(), np.ones(2)
    assert optimizer.t == 0
    first = path_of(optimizer, w, lambda t, w: gradients[t], 3)
    assert optimizer.t == 3
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        theirs, ours = np.ones(2), np.ones(2)
        twin.step(theirs, gradients[3])
        copy.deepcopy(optimizer).step(ours, gradients[3])
        np.testing.assert_array_equal(theirs, ours)
        assert (optimizer.t, twin.t) == (3, 4)
    optimizer.reset()
    assert optimizer.t == 0
    np.testing.assert_array_equal(
        path_of(optimizer, w, lambda t, w: gradients[t], 3), first
    )
    optimizer.reset()
    optimizer.step(np.ones(5), np.ones(5))


@pytest.mark.parametrize("cls", ALL)
def test_float32_stays_float32(cls):
    rng = np.random.default_rng(4)
    gradients = rng.normal(size=(20, 3))
    single, optimizer = np.ones(3, dtype=np.float32), cls(learning_rate=0.01)
    for g in gradients:
        optimizer.step(single, g)
    double = path_of(cls(learning_rate=0.01), np.ones(3), lambda t, w: gradients[t], 20)
    np.testing.assert_allclose(single, double[-1], rtol=2e-5, atol=2e-6)
    states = [value for value in vars(optimizer).values() if hasattr(value, "dtype")]
    assert {single.dtype, *(state.dtype for state in states)} == {np.dtype("float32")}


def test_learning_rate_may_change_between_steps():
    optimizer, w = SGD(learning_rate=1.0), np.zeros(1)
    optimizer.step(w, [1.0])
    optimizer.learning_rate = 0.5
    optimizer.step(w, [1.0])
    assert w[0] == -1.5


def test_formula_leaves_its_arguments_alone_and_is_what_step_runs(monkeypatch):
    m, v, g = np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([1.0, -1.0])
    saved = [a.copy() for a in (m, v, g)]
    m_t, v_t, step = adam_step(m, v, g, 3, 0.1, 0.9, 0.99, 1e-8)
    for before, after in zip(saved, (m, v, g), strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(m_t, 0.9 * m + 0.1 * g)
    np.testing.assert_allclose(v_t, 0.99 * v + 0.01 * g**2)
    m_hat, v_hat = m_t / (1 - 0.9**3), v_t / (1 - 0.99**3)
    np.testing.assert_allclose(step, 0.1 * m_hat / (np.sqrt(v_hat) + 1e-8))

    def planted(m, v, gradient, *rest, out):
        out[2][...] = 100.0

    monkeypatch.setattr(optimizers, "adam_step", planted)
    w = np.zeros(2)
    Adam().step(w, g)
    assert w.tolist() == [-100.0, -100.0]


@pytest.mark.parametrize(
    ("formula", "arguments"),
    [
        ("sgd_step", (2, 0.5)),
        ("momentum_step", (1, 2, 0.5, 0.5)),
        ("nesterov_step", (1, 2, 0.5, 0.5)),
        ("adagrad_step", (1, 2, 0.5, 0.0)),
        ("rmsprop_step", (1, 2, 0.5, 0.5, 0.0)),
        ("adam_step", (1, 1, 2, 1, 0.5, 0.5, 0.5, 0.0)),
        ("shrink", (2, 0.5, 0.5)),
    ],
)
def test_formulas_take_plain_numbers(formula, arguments):
    function = getattr(optimizers, formula)
    whole, floating = function(*arguments), function(*map(float, arguments))
    np.testing.assert_array_equal(whole, floating)
    assert np.isfinite(whole).all()


# Bad input


def state_of(optimizer):
    return copy.deepcopy(vars(optimizer))


def assert_same_state(before, after):
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


BAD_GRADIENTS = [
    ([1.0, np.nan, np.inf], ValueError, r"gradient\[1\] = nan is not finite"),
    ([1.0, 2.0, -np.inf], ValueError, r"gradient\[2\] = -inf is not finite"),
    ([1.0, 2.0], ValueError, r"\(3,\), got \(2,\)"),
    ([[1.0, 2.0, 3.0]], ValueError, r"\(3,\), got \(1, 3\)"),
    (1.0, ValueError, r"\(3,\), got \(\)"),
    ([1.0, 2j, 3.0], TypeError, "real numbers, got complex128"),
    (["1", "2", "3"], TypeError, "real numbers, got <U1"),
    (None, TypeError, "real numbers, got object"),
]


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(("gradient", "error", "message"), BAD_GRADIENTS)
def test_bad_gradient_changes_nothing(cls, gradient, error, message):
    optimizer, w = cls(), np.array([1.0, 2.0, 3.0])
    for warm in (False, True):
        if warm:
            optimizer.step(w, [1.0, 1.0, 1.0])
        before, parameters = state_of(optimizer), w.copy()
        with pytest.raises(error, match=message):
            optimizer.step(w, gradient)
        np.testing.assert_array_equal(w, parameters)
        assert_same_state(before, state_of(optimizer))


def read_only(values):
    values.flags.writeable = False
    return values


BAD_PARAMETERS = [
    (np.array([1, 2, 3]), TypeError, "floating NumPy array; got int64"),
    ([1.0, 2.0, 3.0], TypeError, "floating NumPy array; got list"),
    (np.ones(3, dtype=complex), TypeError, "got complex128"),
    (np.ones((1, 3)), ValueError, r"flat vector of shape \(n,\), got shape \(1, 3\)"),
    (read_only(np.ones(3)), ValueError, "read-only"),
    (np.array([1.0, np.nan, 2.0]), ValueError, r"parameters\[1\] = nan"),
    (np.ones(4), ValueError, "state of 3 parameters of type float64, got 4"),
    (np.ones(3, dtype=np.float32), ValueError, "got 3 of type float32"),
]


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(("parameters", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters_change_nothing(cls, parameters, error, message):
    optimizer = cls()
    optimizer.step(np.ones(3), np.ones(3))
    before, saved = state_of(optimizer), copy.deepcopy(parameters)
    with pytest.raises(error, match=message):
        optimizer.step(parameters, np.ones(np.shape(parameters)))
    np.testing.assert_array_equal(parameters, saved)
    assert_same_state(before, state_of(optimizer))


@pytest.mark.parametrize("cls", ADAPTIVE)
def test_gradient_too_large_to_square(cls):
    with pytest.raises(ValueError, match=r"gradient\[1\] = 1e\+200 is too large"):
        cls().step(np.ones(2), [1.0, 1e200])
    with pytest.raises(ValueError, match="too large"):
        cls().step(np.ones(2, dtype=np.float32), [1.0, 1e20])
    SGD(learning_rate=1e-200).step(np.ones(1), [1e200])


@pytest.mark.parametrize(
    ("cls", "name", "bad", "error"),
    [
        (cls, "learning_rate", bad, error)
        for cls in ALL
        for bad, error in [
            (-0.1, ValueError),
            (np.nan, ValueError),
            (np.inf, ValueError),
            ("0.1", TypeError),
            (None, TypeError),
            (True, TypeError),
        ]
    ]
    + [
        (cls, name, bad, ValueError)
        for cls, name in [
            (Momentum, "momentum"),
            (Nesterov, "momentum"),
            (RMSProp, "decay"),
            (Adam, "beta1"),
            (Adam, "beta2"),
            (AdamW, "beta2"),
        ]
        for bad in (-0.1, 1.0, 1.5, np.nan)
    ]
    + [
        (cls, "epsilon", bad, ValueError)
        for cls in ADAPTIVE
        for bad in (-1e-8, np.nan, np.inf)
    ]
    + [(AdamW, "weight_decay", -0.1, ValueError)],
)
def test_bad_hyperparameters(cls, name, bad, error):
    with pytest.raises(error, match=rf"{name} must be a number in \[0, .*got"):
        cls(**{name: bad})
    optimizer = cls()
    good = getattr(optimizer, name)
    with pytest.raises(error, match=name):
        setattr(optimizer, name, bad)
    assert getattr(optimizer, name) == good
