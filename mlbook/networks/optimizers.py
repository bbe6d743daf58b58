"""First-order optimizers, in place on one flat parameter vector.

An optimizer knows nothing of layers or losses. It sees a parameter vector w and the
gradient g of the loss at w, both of shape (n,), and subtracts a step from w::

    optimizer = Adam(learning_rate=0.001)
    for _ in range(1000):
        optimizer.step(parameters, gradient_of_the_loss(parameters))

Each update formula is a function of its own (``adam_step`` and its siblings) that
``step`` runs. All of them work element by element on arrays of any shape, or on plain
numbers. Integers are computed with as float64; other types than float32 and float64 are
refused. Called without ``out`` such a function leaves its arguments alone and returns
new arrays of the gradient's type. Given ``out`` it writes into those arrays and makes
none of their size, except a copy of an integer gradient and, where epsilon and a
denominator are 0, a mask. Each of them may be the argument that it replaces; one that
shares memory with another argument, the gradient for example, gives wrong results. The
formulas check types, shapes and t, but not ``out``; the classes check all the rest:
hyperparameters, finite entries, overflow, shared memory.

The forms are those of ``torch.optim`` (version 2), which differ from some papers in
where the learning rate and epsilon stand. Where the denominator of an adaptive step is
0, the step is 0. That needs epsilon = 0, and squares that were all 0 or too small for
the number type: g^2 (1 - beta2) is 0 for gradients of the defaults below about 5e-161
in float64 and 8e-22 in float32, and loses digits below 1e-152 and 3e-18. A positive
epsilon should be far larger than that, as the defaults are: below, v is 0 while g is not,
and the step g / epsilon has no bound. At the other end, ``step`` refuses gradients above
half the root of the largest number, 6.7e153 and 9.2e18.

Sources: Polyak (1964), Nesterov (1983), Duchi, Hazan and Singer (2011), Tieleman and
Hinton (2012), Kingma and Ba (2015), Loshchilov and Hutter (2019).
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


# The update formulas


def sgd_step(
    gradient: ArrayLike, learning_rate: float, out: Array | None = None
) -> Array:
    """Return the step of gradient descent, learning_rate * g."""
    return np.multiply(learning_rate, _floating("gradient", gradient), out=out)


def momentum_step(
    velocity: ArrayLike,
    gradient: ArrayLike,
    learning_rate: float,
    momentum: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the heavy ball's (p_t, step): p_t = mu p + g, step = learning_rate p_t.

    The learning rate multiplies the velocity when it is used, as in torch, and not the
    gradient when it is collected; the two differ once the learning rate changes.
    """
    gradient, p_t, step = _results(gradient, 2, out, velocity=velocity)
    np.multiply(momentum, velocity, out=p_t)
    p_t += gradient
    np.multiply(learning_rate, p_t, out=step)
    return p_t, step


def nesterov_step(
    velocity: ArrayLike,
    gradient: ArrayLike,
    learning_rate: float,
    momentum: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (p_t, step): p_t = mu p + g, step = learning_rate (g + mu p_t).

    This is Nesterov's method written for the point where the gradient is taken, so
    that the caller never evaluates the loss anywhere but at the parameters.
    """
    gradient, p_t, step = _results(gradient, 2, out, velocity=velocity)
    np.multiply(momentum, velocity, out=p_t)
    p_t += gradient
    np.multiply(momentum, p_t, out=step)
    step += gradient
    step *= learning_rate
    return p_t, step


def adagrad_step(
    sum_of_squares: ArrayLike,
    gradient: ArrayLike,
    learning_rate: float,
    epsilon: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (s_t, step): s_t = s + g^2, step = learning_rate g / (sqrt(s_t) + eps)."""
    gradient, s_t, step = _results(gradient, 2, out, sum_of_squares=sum_of_squares)
    np.square(gradient, out=step)
    np.add(sum_of_squares, step, out=s_t)
    np.sqrt(s_t, out=step)
    step += epsilon
    _divide(gradient, step)
    step *= learning_rate
    return s_t, step


def rmsprop_step(
    mean_square: ArrayLike,
    gradient: ArrayLike,
    learning_rate: float,
    decay: float,
    epsilon: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (v_t, step) of RMSProp, with epsilon outside the root.

    v_t = decay v + (1 - decay) g^2,  step = learning_rate g / (sqrt(v_t) + epsilon).
    """
    gradient, v_t, step = _results(gradient, 2, out, mean_square=mean_square)
    np.square(gradient, out=step)
    _moving_average(mean_square, step, decay, out=v_t, scratch=step)
    np.sqrt(v_t, out=step)
    step += epsilon
    _divide(gradient, step)
    step *= learning_rate
    return v_t, step


def adam_step(
    m: ArrayLike,
    v: ArrayLike,
    gradient: ArrayLike,
    t: int,
    learning_rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Return Adam's (m_t, v_t, step) from m = m_{t-1}, v = v_{t-1} and g_t.

    m_t = beta1 m + (1 - beta1) g,      m_hat = m_t / (1 - beta1^t),
    v_t = beta2 v + (1 - beta2) g^2,    v_hat = v_t / (1 - beta2^t),
    step = learning_rate m_hat / (sqrt(v_hat) + epsilon).

    The counter t starts at 1; ValueError below, where both corrections divide by 0.
    """
    _check_counter(t)
    gradient, m_t, v_t, step = _results(gradient, 3, out, m=m, v=v)
    _moving_average(m, gradient, beta1, out=m_t, scratch=step)
    np.square(gradient, out=step)
    _moving_average(v, step, beta2, out=v_t, scratch=step)
    np.divide(v_t, 1 - beta2**t, out=step)
    np.sqrt(step, out=step)
    step += epsilon
    _divide(m_t, step)
    step *= learning_rate / (1 - beta1**t)
    return m_t, v_t, step


def shrink(
    parameters: ArrayLike,
    learning_rate: float,
    weight_decay: float,
    out: Array | None = None,
) -> Array:
    """Return w (1 - learning_rate weight_decay), the decoupled decay of AdamW."""
    parameters = _floating("parameters", parameters)
    return np.multiply(1 - learning_rate * weight_decay, parameters, out=out)


def _moving_average(
    average: ArrayLike, values: Array, beta: float, out: Array, scratch: Array
) -> None:
    """Write beta * average + (1 - beta) * values into ``out``.

    ``out`` may be ``average`` and ``scratch`` may be ``values``.
    """
    np.multiply(1 - beta, values, out=scratch)
    np.multiply(beta, average, out=out)
    out += scratch


def _divide(numerator: Array, denominator: Array) -> None:
    """Write numerator / denominator over the denominator; where that is 0, 0 stays."""
    where = True if denominator.all() else denominator != 0
    np.divide(numerator, denominator, out=denominator, where=where)


# What the formulas accept


def _floating(name: str, values: ArrayLike) -> Array:
    """Return float32 and float64 as they are and integers, whose squares and products
    would overflow in their own type, as float64."""
    array = np.asarray(values)
    if array.dtype in FLOATS:
        return array
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must be float32, float64 or integers, got {array.dtype}."
        )
    return array.astype(np.float64)


def _results(
    gradient: ArrayLike,
    count: int,
    out: tuple[Array, ...] | None,
    **state: ArrayLike,
) -> tuple[Array, ...]:
    """Return the gradient as floats, then ``count`` arrays for the results.

    ``state`` holds what the first results replace, by name: arrays of the gradient's
    shape, or single numbers.
    """
    gradient = _floating("gradient", gradient)
    for name, values in state.items():
        if np.shape(_floating(name, values)) not in ((), gradient.shape):
            raise ValueError(
                f"{name} must have the shape of the gradient, {gradient.shape}, "
                f"got {np.shape(values)}."
            )
    if out is None:
        return gradient, *(np.empty_like(gradient) for _ in range(count))
    shapes = [np.shape(array) for array in out]
    if shapes != count * [gradient.shape]:
        raise ValueError(
            f"out must be {count} arrays of the gradient's shape {gradient.shape}, "
            f"got {shapes}."
        )
    return gradient, *out


def _check_counter(t: int) -> None:
    if isinstance(t, bool) or not isinstance(t, numbers.Real):
        raise TypeError(f"t must be a whole number, got {t!r}.")
    if not t >= 1 or t % 1:
        raise ValueError(f"t counts from 1, got {float(t):g}")


# The optimizers


class _Number:
    """A hyperparameter, checked at every assignment: finite, in [0, below)."""

    def __init__(self, below: float = math.inf) -> None:
        self.below = below

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else vars(instance)[self.name]

    def __set__(self, instance: Any, value: float) -> None:
        expected = f"a number in [0, {self.below:g})"
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{self.name} must be {expected}, got {value!r}.")
        try:
            number = float(value)  # may round up to the limit, so check it afterwards
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if not 0 <= number < self.below:
            raise ValueError(f"{self.name} must be {expected}, got {number!r}.")
        vars(instance)[self.name] = number


class Optimizer:
    """What all optimizers share: checks, the step count t, and memory kept for reuse.

    Attributes
    ----------
    t : int
        Number of steps taken since the start or the last ``reset``; the first step
        runs with t = 1.
    """

    _state: tuple[str, ...] = ()
    _squares_gradient = False

    learning_rate = _Number()

    def __init__(self, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self.reset()

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    def reset(self) -> None:
        """Forget all steps; the next one may have another number of parameters."""
        self.t = 0
        self._largest_gradient = 0.0
        self._step: Array | None = None
        for name in self._state:
            setattr(self, name, None)

    def step(self, parameters: Array, gradient: ArrayLike) -> None:
        """Update ``parameters`` in place with the gradient of the loss there.

        The state belongs to one parameter vector: take one optimizer for each, for two
        vectors of one length through the same optimizer would share it unnoticed.

        Parameters
        ----------
        parameters : ndarray of shape (n,), float32 or float64, writable
        gradient : array-like of shape (n,), of the loss per unit of each parameter

        Raises
        ------
        TypeError, ValueError
            For arrays of another kind or shape or that share memory with the state,
            entries that are not finite, and numbers that overflow on the way: a
            gradient, a square, the state, the step or the new parameters. Parameters
            and state are then unchanged.
        """
        self._check_parameters(parameters)
        given = self._checked_gradient(parameters, gradient)
        with np.errstate(all="ignore"):  # the checks below report more, and in time
            gradient = given.astype(parameters.dtype, copy=False)
            largest = max(_largest(gradient), self._largest_gradient)  # NaN stays NaN
            if not self._is_far_from_overflow(parameters, largest):
                self._check_entries(parameters, given)
                self._rehearse(parameters, gradient)
            self._largest_gradient = largest
            self._update(parameters, gradient)

    def _update(self, parameters: Array, gradient: Array) -> None:
        """Take the step t + 1, whatever it overflows."""
        if self._step is None:
            self._step = np.zeros_like(parameters)
            for name in self._state:
                setattr(self, name, np.zeros_like(parameters))
        self.t += 1
        self._advance(gradient, self._step)
        self._apply(parameters, self._step)

    def _advance(self, gradient: Array, step: Array) -> None:
        """Bring the state to time t and write the step into ``step``."""
        raise NotImplementedError

    def _apply(self, parameters: Array, step: Array) -> None:
        parameters -= step

    def _arrays(self) -> dict[str, Array]:
        """The state by name, empty before the first step."""
        if self._step is None:
            return {}
        return {name: getattr(self, name) for name in self._state}

    def _check_parameters(self, parameters: Array) -> None:
        name = type(self).__name__
        if not isinstance(parameters, np.ndarray) or parameters.dtype not in FLOATS:
            got = getattr(parameters, "dtype", type(parameters).__name__)
            raise TypeError(
                f"{name} updates in place, so parameters must be a NumPy array of "
                f"float32 or float64; got {got}. Convert with "
                "np.array(parameters, dtype=float)."
            )
        if parameters.ndim != 1:
            raise ValueError(
                f"parameters must be one flat vector of shape (n,), got shape "
                f"{parameters.shape}; pass parameters.reshape(-1), a view."
            )
        if not parameters.flags.writeable:
            raise ValueError("parameters must be writable, got a read-only array.")
        if self._step is not None and (
            (self._step.shape, self._step.dtype) != (parameters.shape, parameters.dtype)
        ):
            raise ValueError(
                f"this {name} holds the state of {self._step.size} parameters of type "
                f"{self._step.dtype}, got {parameters.size} of type "
                f"{parameters.dtype}; call reset() to start anew."
            )

    def _checked_gradient(self, parameters: Array, gradient: ArrayLike) -> Array:
        gradient = np.asarray(gradient)
        if gradient.dtype.kind not in "fiu":
            raise TypeError(f"gradient must be real numbers, got {gradient.dtype}.")
        if gradient.shape != parameters.shape:
            raise ValueError(
                f"gradient must have the shape of parameters, {parameters.shape}, "
                f"got {gradient.shape}."
            )
        arguments = {"parameters": parameters, "gradient": gradient}
        for name, array in self._arrays().items():
            for argument, values in arguments.items():
                if np.shares_memory(values, array):
                    raise ValueError(
                        f"{argument} must not share memory with the state {name}, "
                        "which the step overwrites; pass a copy."
                    )
        return gradient

    # No step may leave an infinity behind, and what it has overwritten cannot be got
    # back. So a step that may come near the largest number is rehearsed on copies.

    def _is_far_from_overflow(self, parameters: Array, largest: float) -> bool:
        """Tell from the largest gradient so far, L, that no number overflows at t + 1.

        No entry of the state is above t L or, in a sum or mean of squares, t L^2. An
        adaptive step divides by no less than the root of the smallest number.
        """
        info = np.finfo(parameters.dtype)
        maximum, smallest = float(info.max), float(info.tiny) * float(info.eps)
        size = maximum**0.25
        return (
            _largest(parameters) < size
            and (self.t + 1) * largest < size
            and self._largest_factor() * size / math.sqrt(smallest) < maximum / 4
        )

    def _largest_factor(self) -> float:
        """The largest number, apart from arrays, that a formula multiplies or adds."""
        return self.learning_rate

    def _check_entries(self, parameters: Array, gradient: Array) -> None:
        largest = float(np.finfo(parameters.dtype).max)
        reason = f"is too large for {parameters.dtype}"
        _check_entries("parameters", parameters, largest, reason)
        if self._squares_gradient:
            # Half the root leaves room for Adam's division of v_t by 1 - beta2^t.
            largest, reason = math.sqrt(largest) / 2, "is too large to be squared"
        _check_entries("gradient", gradient, largest, reason)

    def _rehearse(self, parameters: Array, gradient: Array) -> None:
        twin, trial = copy.deepcopy(self), parameters.copy()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                twin._update(trial, gradient)
            results = trial, *twin._arrays().values()
            if all(np.isfinite(array).all() for array in results):
                return
        except FloatingPointError:
            pass
        arrays = {"parameters": parameters, "gradient": gradient, **self._arrays()}
        sizes = (f"{k} up to {_largest(a):.2g}" for k, a in arrays.items())
        raise ValueError(
            f"this step of {self!r} overflows {parameters.dtype}, from "
            f"{', '.join(sizes)}; nothing was updated."
        )


def _largest(values: Array) -> float:
    """The largest |entry|, without a temporary array; NaN if any entry is NaN."""
    if values.size == 0:
        return 0.0
    return max(-float(values.min()), float(values.max()))


def _check_entries(name: str, values: Array, largest: float, reason: str) -> None:
    bad = ~(np.abs(values) <= largest)  # NaN is not <= anything
    if bad.any():
        i = int(bad.argmax())
        reason = reason if np.isfinite(values[i]) else "is not finite"
        raise ValueError(f"{name}[{i}] = {values[i]} {reason}; nothing was updated.")


class SGD(Optimizer):
    """Gradient descent: w <- w - learning_rate g."""

    def __init__(self, learning_rate: float = 0.001) -> None:
        super().__init__(learning_rate)

    def _advance(self, gradient: Array, step: Array) -> None:
        sgd_step(gradient, self.learning_rate, out=step)


class Momentum(Optimizer):
    """Polyak's heavy ball: p <- mu p + g, w <- w - learning_rate p.

    torch's ``SGD(momentum=mu)`` with its dampening at 0. ``velocity`` is p_t.
    """

    _state = ("velocity",)

    momentum = _Number(below=1)

    def __init__(self, learning_rate: float = 0.001, momentum: float = 0.9) -> None:
        super().__init__(learning_rate)
        self.momentum = momentum

    def _advance(self, gradient: Array, step: Array) -> None:
        momentum_step(
            self.velocity,
            gradient,
            self.learning_rate,
            self.momentum,
            out=(self.velocity, step),
        )


class Nesterov(Momentum):
    """Nesterov's momentum: p <- mu p + g, w <- w - learning_rate (g + mu p).

    torch's ``SGD(momentum=mu, nesterov=True)``. ``velocity`` is p_t.
    """

    def _advance(self, gradient: Array, step: Array) -> None:
        nesterov_step(
            self.velocity,
            gradient,
            self.learning_rate,
            self.momentum,
            out=(self.velocity, step),
        )


class AdaGrad(Optimizer):
    """AdaGrad: s <- s + g^2, w <- w - learning_rate g / (sqrt(s) + epsilon).

    torch's ``Adagrad`` with lr_decay = 0. ``sum_of_squares`` is s_t.
    """

    _state = ("sum_of_squares",)
    _squares_gradient = True

    epsilon = _Number()

    def __init__(self, learning_rate: float = 0.01, epsilon: float = 1e-10) -> None:
        super().__init__(learning_rate)
        self.epsilon = epsilon

    def _advance(self, gradient: Array, step: Array) -> None:
        adagrad_step(
            self.sum_of_squares,
            gradient,
            self.learning_rate,
            self.epsilon,
            out=(self.sum_of_squares, step),
        )

    def _largest_factor(self) -> float:
        return max(self.learning_rate, self.epsilon)


class RMSProp(Optimizer):
    """RMSProp: v <- decay v + (1 - decay) g^2, then AdaGrad's step with v for s.

    torch's ``RMSprop``, which calls ``decay`` alpha and puts epsilon outside the root.
    ``mean_square`` is v_t; it starts at 0 and is not corrected for that.
    """

    _state = ("mean_square",)
    _squares_gradient = True

    decay = _Number(below=1)
    epsilon = _Number()

    def __init__(
        self, learning_rate: float = 0.01, decay: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        super().__init__(learning_rate)
        self.decay = decay
        self.epsilon = epsilon

    def _advance(self, gradient: Array, step: Array) -> None:
        rmsprop_step(
            self.mean_square,
            gradient,
            self.learning_rate,
            self.decay,
            self.epsilon,
            out=(self.mean_square, step),
        )

    def _largest_factor(self) -> float:
        return max(self.learning_rate, self.epsilon)


class Adam(Optimizer):
    """Adam: the averages m of g and v of g^2, both corrected for their start at 0.

    w <- w - learning_rate m_hat / (sqrt(v_hat) + epsilon), see ``adam_step``. torch's
    ``Adam``, where (beta1, beta2) is the parameter betas. ``m`` and ``v`` are m_t and
    v_t before the correction.
    """

    _state = ("m", "v")
    _squares_gradient = True

    beta1 = _Number(below=1)
    beta2 = _Number(below=1)
    epsilon = _Number()

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
    ) -> None:
        super().__init__(learning_rate)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def _advance(self, gradient: Array, step: Array) -> None:
        adam_step(
            self.m,
            self.v,
            gradient,
            self.t,
            self.learning_rate,
            self.beta1,
            self.beta2,
            self.epsilon,
            out=(self.m, self.v, step),
        )

    def _largest_factor(self) -> float:
        return max(self.learning_rate / (1 - self.beta1), self.epsilon)


class AdamW(Adam):
    """Adam with decoupled weight decay: w <- w (1 - learning_rate weight_decay) first.

    The decay never enters the gradient, so it is not divided by sqrt(v_hat). torch's
    ``AdamW``.
    """

    weight_decay = _Number()

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon)
        self.weight_decay = weight_decay

    def _apply(self, parameters: Array, step: Array) -> None:
        shrink(parameters, self.learning_rate, self.weight_decay, out=parameters)
        parameters -= step

    def _largest_factor(self) -> float:
        return super()._largest_factor() * (1 + self.weight_decay)
