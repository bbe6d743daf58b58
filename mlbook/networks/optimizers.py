"""First-order optimizers, in place on one flat parameter vector.

An optimizer knows nothing of layers or losses. It sees a parameter vector w and the
gradient g of the loss at w, both of shape (n,), and subtracts a step from w::

    optimizer = Adam(learning_rate=0.001)
    for _ in range(1000):
        optimizer.step(parameters, gradient_of_the_loss(parameters))

Each update formula is a function of its own (``adam_step`` and its siblings) that
``step`` runs. Called without ``out`` such a function leaves its arguments alone and
returns new arrays; given ``out``, it writes into those arrays and allocates none.
All of them work element by element on arrays of any shape.

The forms are those of ``torch.optim`` (version 2), which differ from some papers in
where the learning rate and epsilon stand. Where an adaptive step would divide 0 by 0,
which needs epsilon = 0 and gradients that were all 0, the step is 0.

Sources: Polyak (1964), Nesterov (1983), Duchi, Hazan and Singer (2011), Tieleman and
Hinton (2012), Kingma and Ba (2015), Loshchilov and Hutter (2019).
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating]


# The update formulas


def sgd_step(
    gradient: Array, learning_rate: float, out: Array | None = None
) -> Array:
    """Return the step of gradient descent, learning_rate * g."""
    return np.multiply(learning_rate, gradient, out=out)


def momentum_step(
    velocity: Array,
    gradient: Array,
    learning_rate: float,
    momentum: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the heavy ball's (v_t, step): v_t = mu v + g, step = learning_rate v_t.

    The learning rate multiplies the velocity when it is used, as in torch, and not the
    gradient when it is collected; the two differ once the learning rate changes.
    """
    v_t, step = _results(gradient, 2, out)
    np.multiply(momentum, velocity, out=v_t)
    v_t += gradient
    np.multiply(learning_rate, v_t, out=step)
    return v_t, step


def nesterov_step(
    velocity: Array,
    gradient: Array,
    learning_rate: float,
    momentum: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (v_t, step): v_t = mu v + g, step = learning_rate (g + mu v_t).

    This is Nesterov's method written for the point where the gradient is taken, so
    that the caller never evaluates the loss anywhere but at the parameters.
    """
    v_t, step = _results(gradient, 2, out)
    np.multiply(momentum, velocity, out=v_t)
    v_t += gradient
    np.multiply(momentum, v_t, out=step)
    step += gradient
    step *= learning_rate
    return v_t, step


def adagrad_step(
    sum_of_squares: Array,
    gradient: Array,
    learning_rate: float,
    epsilon: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (s_t, step): s_t = s + g^2, step = learning_rate g / (sqrt(s_t) + eps)."""
    s_t, step = _results(gradient, 2, out)
    np.square(gradient, out=step)
    np.add(sum_of_squares, step, out=s_t)
    np.sqrt(s_t, out=step)
    step += epsilon
    _divide(gradient, step)
    step *= learning_rate
    return s_t, step


def rmsprop_step(
    mean_square: Array,
    gradient: Array,
    learning_rate: float,
    decay: float,
    epsilon: float,
    out: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return (s_t, step) of RMSProp, with epsilon outside the root.

    s_t = decay s + (1 - decay) g^2,  step = learning_rate g / (sqrt(s_t) + epsilon).
    """
    s_t, step = _results(gradient, 2, out)
    np.square(gradient, out=step)
    _moving_average(mean_square, step, decay, out=s_t, scratch=step)
    np.sqrt(s_t, out=step)
    step += epsilon
    _divide(gradient, step)
    step *= learning_rate
    return s_t, step


def adam_step(
    m: Array,
    v: Array,
    gradient: Array,
    t: int,
    learning_rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Return Adam's (m_t, v_t, step) from m = m_{t-1}, v = v_{t-1} and g_t, t >= 1.

    m_t = beta1 m + (1 - beta1) g,      m_hat = m_t / (1 - beta1^t),
    v_t = beta2 v + (1 - beta2) g^2,    v_hat = v_t / (1 - beta2^t),
    step = learning_rate m_hat / (sqrt(v_hat) + epsilon).
    """
    m_t, v_t, step = _results(gradient, 3, out)
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
    parameters: Array,
    learning_rate: float,
    weight_decay: float,
    out: Array | None = None,
) -> Array:
    """Return w (1 - learning_rate weight_decay), the decoupled decay of AdamW."""
    return np.multiply(1 - learning_rate * weight_decay, parameters, out=out)


def _results(gradient: Array, count: int, out: tuple[Array, ...] | None) -> Any:
    if out is not None:
        return out
    gradient = np.asarray(gradient)
    dtype = np.result_type(gradient, np.float32)  # integers become float64
    return tuple(np.empty(gradient.shape, dtype) for _ in range(count))


def _moving_average(
    average: Array, values: Array, beta: float, out: Array, scratch: Array
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
        if not 0 <= value < self.below:
            raise ValueError(f"{self.name} must be {expected}, got {value!r}.")
        vars(instance)[self.name] = float(value)


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

    def reset(self) -> None:
        """Forget all steps; the next one may have another number of parameters."""
        self.t = 0
        self._step: Array | None = None
        for name in self._state:
            setattr(self, name, None)

    def step(self, parameters: Array, gradient: ArrayLike) -> None:
        """Update ``parameters`` in place with the gradient of the loss there.

        Parameters
        ----------
        parameters : ndarray of shape (n,), floating and writable
        gradient : array-like of shape (n,), of the loss per unit of each parameter

        Raises
        ------
        TypeError, ValueError
            For arrays of another kind or shape, entries that are not finite, or, in the
            methods that square the gradient, entries whose square overflows. Parameters
            and state are then unchanged.
        """
        gradient = self._checked(parameters, gradient)
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

    def _checked(self, parameters: Array, gradient: ArrayLike) -> Array:
        name = type(self).__name__
        if not isinstance(parameters, np.ndarray) or parameters.dtype.kind != "f":
            got = getattr(parameters, "dtype", type(parameters).__name__)
            raise TypeError(
                f"{name} updates in place, so parameters must be a floating NumPy "
                f"array; got {got}. Convert with np.array(parameters, dtype=float)."
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
        gradient = np.asarray(gradient)
        if gradient.dtype.kind not in "fiu":
            raise TypeError(f"gradient must be real numbers, got {gradient.dtype}.")
        if gradient.shape != parameters.shape:
            raise ValueError(
                f"gradient must have the shape of parameters, {parameters.shape}, "
                f"got {gradient.shape}."
            )
        largest = float(np.finfo(parameters.dtype).max)
        _check_entries("parameters", parameters, largest)
        if self._squares_gradient:
            largest = math.sqrt(largest)
        _check_entries("gradient", gradient, largest)
        return gradient.astype(parameters.dtype, copy=False)


def _check_entries(name: str, values: Array, largest: float) -> None:
    # The extremes answer for all entries without a temporary array, and a NaN anywhere
    # makes the comparison false.
    if values.size == 0:
        return
    if -largest <= float(values.min()) and float(values.max()) <= largest:
        return
    i = int(np.argmin(np.abs(values) <= largest))
    reason = "is too large to be squared" if np.isfinite(values[i]) else "is not finite"
    raise ValueError(f"{name}[{i}] = {values[i]} {reason}; nothing was updated.")


class SGD(Optimizer):
    """Gradient descent: w <- w - learning_rate g."""

    def __init__(self, learning_rate: float = 0.001) -> None:
        super().__init__(learning_rate)

    def _advance(self, gradient: Array, step: Array) -> None:
        sgd_step(gradient, self.learning_rate, out=step)


class Momentum(Optimizer):
    """Polyak's heavy ball: v <- mu v + g, w <- w - learning_rate v.

    torch's ``SGD(momentum=mu)`` with its dampening at 0. ``velocity`` is v_t.
    """

    _state = ("velocity",)
    _formula = staticmethod(momentum_step)

    momentum = _Number(below=1)

    def __init__(self, learning_rate: float = 0.001, momentum: float = 0.9) -> None:
        super().__init__(learning_rate)
        self.momentum = momentum

    def _advance(self, gradient: Array, step: Array) -> None:
        out = self.velocity, step
        self._formula(self.velocity, gradient, self.learning_rate, self.momentum, out)


class Nesterov(Momentum):
    """Nesterov's momentum: v <- mu v + g, w <- w - learning_rate (g + mu v).

    torch's ``SGD(momentum=mu, nesterov=True)``. ``velocity`` is v_t.
    """

    _formula = staticmethod(nesterov_step)


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


class RMSProp(Optimizer):
    """RMSProp: s <- decay s + (1 - decay) g^2, then AdaGrad's step with that s.

    torch's ``RMSprop``, which calls ``decay`` alpha and puts epsilon outside the root.
    ``mean_square`` is s_t; it starts at 0 and is not corrected for that.
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
