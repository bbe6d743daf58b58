"""The optimizers against torch.optim, the formulas' consequences, and bad input.

``reference/optimizers.json`` holds what torch.optim does in 50 steps;
``reference/make_optimizers.py`` made it.
"""

import copy
import inspect
import json
import math
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


@pytest.mark.parametrize("run", RUNS)
def test_learning_rate_halved_on_the_way_as_torch(run):
    gradients, optimizer = np.array(REFERENCE["gradients"]), make(run)

    def gradient(t, w):
        if t == REFERENCE["halve_after"]:
            optimizer.learning_rate /= 2
        return gradients[t]

    path = path_of(optimizer, REFERENCE["start"], gradient, 50)
    assert_paths_agree(path, run["halved"])


def test_reference_covers_every_optimizer_twice():
    names = [run["optimizer"] for run in REFERENCE["runs"]]
    assert sorted(names) == sorted(2 * [cls.__name__ for cls in ALL])
    assert all(np.shape(run["fixed"]) == (50, 3) for run in REFERENCE["runs"])
    assert all(np.shape(run["bowl"]) == (50, 2) for run in REFERENCE["runs"])
    for run in REFERENCE["runs"]:
        assert run["halved"][:25] == run["fixed"][:25]
        assert run["halved"][25] != run["fixed"][25]


DEFAULTS = {  # torch's, but for momentum, which is 0 there
    SGD: {"learning_rate": 1e-3},
    Momentum: {"learning_rate": 1e-3, "momentum": 0.9},
    Nesterov: {"learning_rate": 1e-3, "momentum": 0.9},
    AdaGrad: {"learning_rate": 1e-2, "epsilon": 1e-10},
    RMSProp: {"learning_rate": 1e-2, "decay": 0.99, "epsilon": 1e-8},
    Adam: {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
}
DEFAULTS[AdamW] = {**DEFAULTS[Adam], "weight_decay": 0.01}


@pytest.mark.parametrize("cls", ALL)
def test_defaults(cls):
    signature = inspect.signature(cls)
    found = {name: p.default for name, p in signature.parameters.items()}
    assert list(found.items()) == list(DEFAULTS[cls].items())
    assert {name: getattr(cls(), name) for name in found} == found


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
    expected = -0.001 * np.arange(1, 101) / (1 + 1e-8)
    np.testing.assert_allclose(path, expected, rtol=1e-12)


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


def longest_step(t, beta1, beta2):
    """The same for the corrected averages of t gradients, in learning rates."""
    correction = np.sqrt((1 - (beta1**2 / beta2) ** t) * (1 - beta2**t))
    return ratio_bound(beta1, beta2) * correction / (1 - beta1**t)


def steps_and_ratios(gradients, beta1, beta2):
    """|step_t| in learning rates and |m_t| / sqrt(v_t), 0 where v_t is 0."""
    optimizer = Adam(1.0, beta1, beta2, epsilon=0.0)
    steps, ratios, w = [], [], np.zeros(1)
    for g in gradients:
        before = w[0]
        optimizer.step(w, [g])
        root = np.sqrt(optimizer.v[0])
        steps.append(abs(w[0] - before))
        ratios.append(abs(optimizer.m[0]) / root if root > 0 else 0.0)
    return np.array(steps), np.array(ratios)


@given(
    st.lists(
        st.floats(-1e6, 1e6).filter(lambda g: g == 0 or abs(g) > 1e-6),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([(0.9, 0.999), (0.5, 0.9), (0.0, 0.5), (0.8, 0.7)]),
)
@settings(deadline=None)
def test_no_step_is_longer_than_the_theorem_says(gradients, betas):
    steps, ratios = steps_and_ratios(gradients, *betas)
    t = np.arange(1, len(gradients) + 1)
    # A step is read off the weight, so it carries the rounding of sums of steps.
    assert (steps <= longest_step(t, *betas) * (1 + 1e-9)).all()
    assert (ratios <= ratio_bound(*betas) * (1 + 1e-9)).all()


@pytest.mark.parametrize(("beta1", "beta2"), [(0.9, 0.999), (0.5, 0.9), (0.8, 0.7)])
def test_growing_gradients_reach_the_bounds(beta1, beta2):
    """Equality in Cauchy-Schwarz needs gradients that grow like (b2 / b1)^t."""
    growing = (beta2 / beta1) ** np.arange(-400.0, 1.0)
    steps, ratios = steps_and_ratios(growing, beta1, beta2)
    t = np.arange(1, 402)
    np.testing.assert_allclose(steps, longest_step(t, beta1, beta2), rtol=1e-11)
    bound = ratio_bound(beta1, beta2)
    assert bound * 0.999 < ratios.max() <= bound * (1 + 1e-9)


def test_adam_step_far_beyond_the_often_quoted_bound():
    """(1 - b1) / sqrt(1 - b2) = 3.16 learning rates is no bound: this takes 7.09."""
    growing = (0.999 / 0.9) ** np.arange(-3000.0, 1.0)
    steps, _ = steps_and_ratios(growing, 0.9, 0.999)
    assert steps[-1] == pytest.approx(longest_step(3001, 0.9, 0.999), rel=1e-11)
    assert steps[-1] > 7.0
    assert ratio_bound(0.9, 0.999) == pytest.approx(7.2703, abs=1e-4)


def test_a_single_gradient_after_zeros_obeys_the_quoted_bound():
    steps, _ = steps_and_ratios([0.0] * 5000 + [1.0], 0.9, 0.999)
    correction = np.sqrt(1 - 0.999**5001) / (1 - 0.9**5001)
    assert steps[-1] == pytest.approx(0.1 / np.sqrt(0.001) * correction, rel=1e-13)


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
    assert vars(optimizer) == vars(cls())
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
    np.testing.assert_allclose(single, double[-1], rtol=1e-6)
    states = [value for value in vars(optimizer).values() if hasattr(value, "dtype")]
    assert {single.dtype, *(state.dtype for state in states)} == {np.dtype("float32")}


@pytest.mark.parametrize("cls", ALL)
def test_no_parameters_no_step(cls):
    nothing = np.zeros(0)
    for learning_rate in (0.1, 1e300):  # far from overflow and not
        optimizer = cls(learning_rate)
        optimizer.step(nothing, [])
        assert optimizer.t == 1


@pytest.mark.parametrize("cls", ALL)
def test_repr_makes_the_same_optimizer(cls):
    optimizer = cls(learning_rate=0.25)
    twin = eval(repr(optimizer), {cls.__name__: cls})
    assert vars(twin) == vars(optimizer) and type(twin) is cls
    assert repr(AdaGrad()) == "AdaGrad(learning_rate=0.01, epsilon=1e-10)"


@pytest.mark.parametrize("cls", ALL)
def test_nothing_in_a_step_raises_on_the_way(cls):
    """Also where the caller has NumPy raise: 1e-200 underflows when it is squared."""
    gradients = [[1e-200, 0.0, 3.0], [1e-310, 0.0, -1.0], [0.0, 0.0, 1e-5]]
    quiet, strict = np.ones(3), np.ones(3)
    optimizer, twin = cls(), cls()
    for gradient in gradients:
        optimizer.step(quiet, gradient)
        with np.errstate(all="raise"):
            twin.step(strict, gradient)
            before = state_of(twin), strict.copy()
            with pytest.raises(ValueError, match="nothing was updated"):
                twin.step(strict, [1.0, 1.0, np.inf])
        assert_same_state(before[0], state_of(twin))
        np.testing.assert_array_equal(strict, before[1])
    np.testing.assert_array_equal(quiet, strict)


# The formulas


def divide(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def adam_by_its_definition(m, v, g, t, lr, beta1, beta2, epsilon):
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
    return m, v, lr * divide(m_hat, np.sqrt(v_hat) + epsilon)


def rmsprop_by_its_definition(v, g, lr, decay, epsilon):
    v = decay * v + (1 - decay) * g**2
    return v, lr * divide(g, np.sqrt(v) + epsilon)


# Each function: how many arrays it takes, its numbers, its definition.
FORMULAS = {
    "sgd_step": (1, (0.5,), lambda g, lr: (lr * g,)),
    "momentum_step": (
        2,
        (0.5, 0.75),
        lambda p, g, lr, mu: (mu * p + g, lr * (mu * p + g)),
    ),
    "nesterov_step": (
        2,
        (0.5, 0.75),
        lambda p, g, lr, mu: (mu * p + g, lr * (g + mu * (mu * p + g))),
    ),
    "adagrad_step": (
        2,
        (0.5, 0.0),
        lambda s, g, lr, eps: (s + g**2, lr * divide(g, np.sqrt(s + g**2) + eps)),
    ),
    "rmsprop_step": (2, (0.5, 0.75, 0.1), rmsprop_by_its_definition),
    "adam_step": (3, (3, 0.5, 0.75, 0.9, 0.0), adam_by_its_definition),
    "shrink": (1, (0.5, 0.25), lambda w, lr, decay: ((1 - lr * decay) * w,)),
}


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_formula_with_and_without_out(name, dtype):
    """The same results, of the same type, and only ``out`` is written to."""
    count, rates, definition = FORMULAS[name]
    formula = getattr(optimizers, name)
    rng = np.random.default_rng(11)
    arguments = [abs(rng.normal(size=(4, 3))).astype(dtype) for _ in range(count)]
    arguments[-1] *= rng.choice([-1, 1], size=(4, 3))
    for argument in arguments:
        argument[0] = 0  # 0 / 0 where epsilon is 0
    saved = [argument.copy() for argument in arguments]
    results = tuple_of(formula(*arguments, *rates))
    for argument, before in zip(arguments, saved, strict=True):
        np.testing.assert_array_equal(argument, before)
    expected = definition(*(a.astype(float) for a in arguments), *rates)
    assert len(results) == len(expected)
    for result, right in zip(results, expected, strict=True):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, right, rtol=100 * np.finfo(dtype).eps)

    # In place, as the optimizers use them: the first results replace the arguments.
    written = (*arguments[:-1], np.empty((4, 3), dtype))
    out = written if len(written) > 1 else written[0]
    again = tuple_of(formula(*arguments[:-1], saved[-1], *rates, out=out))
    for result, array, same in zip(again, written, results, strict=True):
        assert result is array
        np.testing.assert_array_equal(array, same)


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (SGD, "sgd_step"),
        (Momentum, "momentum_step"),
        (Nesterov, "nesterov_step"),
        (AdaGrad, "adagrad_step"),
        (RMSProp, "rmsprop_step"),
        (Adam, "adam_step"),
        (AdamW, "adam_step"),
        (AdamW, "shrink"),
    ],
)
def test_formula_is_what_step_runs(cls, name, monkeypatch):
    def planted(*arguments, out):
        tuple_of(out)[-1][...] = 100.0

    monkeypatch.setattr(optimizers, name, planted)
    w = np.zeros(2)
    cls(learning_rate=0.0).step(w, np.ones(2))
    assert w.tolist() == ([100.0, 100.0] if name == "shrink" else [-100.0, -100.0])


@pytest.mark.parametrize("number", [2, 10**10, np.int8(100), np.uint8(200)])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_take_whole_numbers(name, number):
    """Also those whose square does not fit their own type."""
    count, rates, _ = FORMULAS[name]
    formula = getattr(optimizers, name)
    arguments = [number] * count
    whole = tuple_of(formula(*arguments, *rates))
    floating = tuple_of(formula(*map(float, arguments), *rates))
    for result, right in zip(whole, floating, strict=True):
        np.testing.assert_array_equal(result, right)
        assert result.dtype == np.float64 and np.isfinite(result)
    if isinstance(number, np.generic):
        out = tuple(np.zeros(2) for _ in whole)
        arrays = [np.full(2, number)] * count
        formula(*arrays, *rates, out=out if len(out) > 1 else out[0])
        for array, right in zip(out, floating, strict=True):
            np.testing.assert_array_equal(array, [right, right])


def test_first_adam_steps_of_whole_numbers():
    for gradient in (10**10, np.int8(100)):
        *_, step = optimizers.adam_step(0, 0, gradient, 1, 1.0, 0.9, 0.999, 0.0)
        assert step == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(
    "bad", [np.float16(1), np.longdouble(1), 1j, True, "1", None, 10**30]
)
def test_formulas_refuse_other_types(name, bad):
    count, rates, _ = FORMULAS[name]
    formula = getattr(optimizers, name)
    for k in range(count):
        arguments = [1.0] * count
        arguments[k] = bad
        with pytest.raises(TypeError, match="must be float32, float64 or integers"):
            formula(*arguments, *rates)


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_name_a_wrong_shape(name):
    count, rates, _ = FORMULAS[name]
    formula = getattr(optimizers, name)
    for k in range(count - 1):
        arguments = [np.ones(2)] * count
        arguments[k] = np.ones(3)
        message = r"must have the shape of the gradient, \(2,\), got \(3,\)"
        with pytest.raises(ValueError, match=message):
            formula(*arguments, *rates)
    if count > 1:
        for out in [(np.ones(2),) * (count - 1), (np.ones(3),) * count]:
            with pytest.raises(ValueError, match=rf"out must be {count} arrays of"):
                formula(*[np.ones(2)] * count, *rates, out=out)


@pytest.mark.parametrize("zero", [0, 0.0, np.int64(0), np.float64(0)])
def test_counter_starts_at_one(zero):
    with pytest.raises(ValueError, match="^t counts from 1, got 0$"):
        optimizers.adam_step(0.0, 0.0, np.ones(1), zero, 0.1, 0.9, 0.999, 1e-8)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (-1, ValueError, "t counts from 1, got -1"),
        (1.5, ValueError, "t counts from 1, got 1.5"),
        (np.nan, ValueError, "t counts from 1, got nan"),
        ("1", TypeError, "t must be a whole number, got '1'"),
        (True, TypeError, "t must be a whole number, got True"),
        (None, TypeError, "t must be a whole number, got None"),
    ],
)
def test_bad_counters(bad, error, message):
    with pytest.raises(error, match=message):
        optimizers.adam_step(0.0, 0.0, 1.0, bad, 0.1, 0.9, 0.999, 1e-8)


# The limits of the number types

SMALL = [  # below the first a square is 0 beside 1 - beta2, above the second exact
    (np.float64, 4e-161, 1e-152, 1e-12),
    (np.float32, 6e-22, 4e-18, 1e-6),
]


@pytest.mark.parametrize(("dtype", "vanishing", "safe", "rtol"), SMALL)
@pytest.mark.parametrize("cls", [Adam, AdamW])
def test_smallest_gradients_without_epsilon(cls, dtype, vanishing, safe, rtol):
    no_decay = {"weight_decay": 0.0} if cls is AdamW else {}
    optimizer, w = cls(1.0, epsilon=0.0, **no_decay), np.zeros(2, dtype)
    for t in range(1, 6):
        optimizer.step(w, [vanishing, safe])
        np.testing.assert_allclose(w, [0.0, -t], rtol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", ADAPTIVE)
def test_largest_gradients(cls, dtype):
    """Steps are right up to half the root of the largest number, and refused above."""
    limit = math.sqrt(float(np.finfo(dtype).max)) / 2
    rates = {"learning_rate": 0.5, "epsilon": 0.0}
    large, small = cls(**rates), cls(**rates)
    w, expected = np.zeros(1, dtype), np.zeros(1)
    for _ in range(4):
        large.step(w, [0.999 * limit])
        small.step(expected, [1.0])
        np.testing.assert_allclose(w, expected, rtol=20 * float(np.finfo(dtype).eps))
    assert_refused(large, w, [1.001 * limit], "is too large to be squared")


def state_of(optimizer):
    return copy.deepcopy(vars(optimizer))


def assert_same_state(before, after):
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


def assert_refused(optimizer, w, gradient, message):
    """The step raises a ValueError, and parameters and state are as before."""
    before, parameters = state_of(optimizer), w.copy()
    with pytest.raises(ValueError, match=message):
        optimizer.step(w, gradient)
    np.testing.assert_array_equal(w, parameters)
    assert_same_state(before, state_of(optimizer))


def test_adagrad_refuses_a_sum_that_overflows_and_goes_on():
    optimizer, w = AdaGrad(), np.zeros(2)
    for _ in range(4):
        optimizer.step(w, [6e153, 1.0])  # 4 * 3.6e307 is below the largest number
    assert_refused(optimizer, w, [6e153, 1.0], r"overflows float64.*up to 1\.4e\+308")
    before = w.copy()
    optimizer.step(w, [1.0, 1.0])
    assert w[1] == pytest.approx(before[1] - 0.01 / np.sqrt(5), rel=1e-8)


@pytest.mark.parametrize("learning_rate", [0.001, 0.0])
@pytest.mark.parametrize("cls", [Momentum, Nesterov])
def test_velocity_that_overflows_is_refused(cls, learning_rate):
    optimizer, w = cls(learning_rate), np.zeros(2)
    if cls is Momentum:
        optimizer.step(w, [1.7e308, 1.0])
        assert w[0] == -learning_rate * 1.7e308
        gradient = [1.7e308, 1.0]
    else:  # its step is longer
        optimizer.step(w, [0.9e308, 1.0])
        gradient = [0.9e308, 1.0]
    assert_refused(optimizer, w, gradient, "overflows float64")
    optimizer.step(w, [-1e308, 1.0])
    assert np.isfinite(w).all() and np.isfinite(optimizer.velocity).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", ALL)
def test_parameters_that_overflow_are_refused(cls, dtype):
    largest = float(np.finfo(dtype).max)
    optimizer, w = cls(largest / 10), np.array([1.0, largest], dtype)
    assert_refused(optimizer, w, [1.0, -1.0], f"overflows {np.dtype(dtype)}")


@pytest.mark.parametrize(
    "rates",
    [{"learning_rate": 1e300}, {"epsilon": 1e300}, {"weight_decay": 1e300}],
    ids=str,
)
def test_hyperparameters_that_overflow_are_refused(rates):
    """1e300 is a float64, but the parameters are not."""
    rates = {"learning_rate": 1.0, **rates}
    assert_refused(AdamW(**rates), np.ones(2, np.float32), [1.0, 1.0], "overflows")


def test_quotient_that_overflows_is_refused():
    """With beta1^2 > beta2 there is no bound on m / sqrt(v)."""
    optimizer, w = Adam(1.0, 0.9, 0.0, 0.0), np.zeros(1)
    optimizer.step(w, [1e150])
    assert_refused(optimizer, w, [1e-160], "overflows float64")


def extreme(limit):
    """Numbers of all sizes up to 10^limit, and 0."""
    return st.just(0.0) | st.floats(-limit - 10, limit).map(lambda k: 10.0**k)


@st.composite
def runs_near_the_limits(draw):
    dtype, limit = draw(st.sampled_from([(np.float32, 38.0), (np.float64, 308.0)]))
    cls = draw(st.sampled_from(ALL))
    rates = {}
    for name in inspect.signature(cls).parameters:
        small = name in ("momentum", "decay", "beta1", "beta2")
        share = st.sampled_from([0.0, 0.5, 0.9, 0.999, 1 - 1e-16])
        rates[name] = draw(share if small else extreme(limit))
    sizes = st.lists(extreme(limit), min_size=2, max_size=2)
    return cls, rates, dtype, draw(st.lists(sizes, min_size=1, max_size=5))


@given(runs_near_the_limits())
@settings(deadline=None, max_examples=300)
def test_whatever_the_sizes_a_step_is_finite_or_refused(case):
    """And what is not rehearsed needs no rehearsal."""
    cls, rates, dtype, gradients = case
    optimizer, careful = cls(**rates), cls(**rates)
    careful._is_far_from_overflow = lambda *_: False
    w = np.array([1.0, -3.0], dtype)
    twin = w.copy()
    for gradient in gradients:
        outcomes = []
        for candidate, parameters in ((optimizer, w), (careful, twin)):
            try:
                candidate.step(parameters, gradient)
                outcomes.append("a step")
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        np.testing.assert_array_equal(w, twin)
        for array in (w, *optimizer._arrays().values()):
            assert np.isfinite(array).all()


# Bad input


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
    (np.array([1, 2, 3]), TypeError, "of float32 or float64; got int64"),
    ([1.0, 2.0, 3.0], TypeError, "of float32 or float64; got list"),
    (np.ones(3, dtype=complex), TypeError, "got complex128"),
    (np.ones(3, dtype=np.float16), TypeError, "float32 or float64; got float16"),
    (np.ones(3, dtype=np.longdouble), TypeError, "float32 or float64; got "),
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


def test_gradient_too_large_for_the_type_is_not_said_to_be_squared():
    w = np.ones(2, dtype=np.float32)
    for cls in (SGD, Momentum, Nesterov):
        message = r"gradient\[1\] = 1e\+300 is too large for float32"
        assert_refused(cls(), w, [1.0, 1e300], message)


@pytest.mark.parametrize("cls", [Momentum, Nesterov, AdaGrad, RMSProp, Adam, AdamW])
def test_state_as_an_argument_is_refused(cls):
    optimizer, w = cls(), np.array([1.0, 2.0])
    optimizer.step(w, w)
    state = [v for v in vars(optimizer).values() if isinstance(v, np.ndarray)][1:]
    assert state
    for array in state:
        assert_refused(optimizer, w, array, "gradient must not share memory with")
        assert_refused(optimizer, w, array[::-1], "gradient must not share memory")
        assert_refused(optimizer, array, w, "parameters must not share memory with")


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
            (Fraction(10**400), ValueError),
            (-Fraction(10**400), ValueError),
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
        for bad in (-0.1, 1.0, 1.5, np.nan, 1 - Fraction(1, 10**30))
    ]
    + [
        (cls, "epsilon", bad, ValueError)
        for cls in ADAPTIVE
        for bad in (-1e-8, np.nan, np.inf)
    ]
    + [(AdamW, "weight_decay", bad, ValueError) for bad in (-0.1, np.inf)],
)
def test_bad_hyperparameters(cls, name, bad, error):
    with pytest.raises(error, match=rf"{name} must be a number in \[0, .*got"):
        cls(**{name: bad})
    optimizer = cls()
    good = getattr(optimizer, name)
    with pytest.raises(error, match=name):
        setattr(optimizer, name, bad)
    assert getattr(optimizer, name) == good


@pytest.mark.parametrize(
    ("cls", "name"),
    [(cls, "learning_rate") for cls in ALL]
    + [(cls, "epsilon") for cls in ADAPTIVE]
    + [(AdamW, "weight_decay")],
)
def test_hyperparameters_without_an_upper_limit(cls, name):
    for good in (0, 1, 1e9, Fraction(3, 2), np.float32(2.5)):
        found = getattr(cls(**{name: good}), name)
        assert type(found) is float and found == good
