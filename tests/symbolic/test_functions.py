"""Sigmoid and softplus: derivatives, reflections and stable numbers."""

import numpy as np
import pytest
from sympy import Rational, Symbol, exp, log

from mlbook.symbolic import evaluate, identical, partial
from mlbook.symbolic.functions import fold_reflections, sigmoid, softplus

z, u, v = (Symbol(name, real=True) for name in "zuv")


@pytest.mark.parametrize("opaque, written_out", [
    (sigmoid(z), 1 / (1 + exp(-z))), (softplus(z), log(1 + exp(z)))])
def test_derivatives_agree_with_the_written_out_function(opaque, written_out):
    for point in (-3, -0.4, 0.1, 2.5):
        slope = float(written_out.diff(z).subs(z, point))
        assert float(evaluate(opaque.diff(z), {z: point})) == pytest.approx(
            slope, rel=1e-13)
    assert opaque.rewrite(exp) == written_out


def test_derivatives_stay_readable():
    assert sigmoid(z).diff(z) == sigmoid(z) * (1 - sigmoid(z))
    assert softplus(z).diff(z) == sigmoid(z)


def test_values_at_zero_are_exact():
    assert sigmoid(0) == Rational(1, 2)
    assert softplus(0) == log(2)


@pytest.mark.parametrize("left, right", [
    (sigmoid(-z), 1 - sigmoid(z)),
    (sigmoid(u - v) + sigmoid(v - u), 1),
    (softplus(-z), softplus(z) - z),
    (log(sigmoid(z)), -softplus(-z)),
    (log(sigmoid(z)) - log(sigmoid(-z)), z)])
def test_reflections_are_proved(left, right):
    assert identical(left, right)
    numbers = {z: 0.7, u: -1.2, v: 0.4}
    assert float(evaluate(left - right, numbers)) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("left, right", [
    (sigmoid(-z), sigmoid(z)), (softplus(-z), softplus(z)),
    (log(sigmoid(z)), softplus(-z)), (sigmoid(z), sigmoid(2 * z) / 2)])
def test_wrong_reflections_are_not(left, right):
    assert not identical(left, right)


def test_folding_leaves_other_expressions_alone():
    expr = exp(-z) + log(z**2 + 1)
    assert fold_reflections(expr) is expr


def test_false_zero_of_a_scalar_loss():
    """The logistic loss has the gradient -x / (1 + exp(w x)), and not 0."""
    w, x = Symbol("w", real=True), Symbol("x", real=True)
    slope = partial(softplus(-w * x), w)
    assert identical(slope, -x * sigmoid(-w * x))
    assert float(evaluate(slope, {w: 0.3, x: 2.0})) == pytest.approx(
        -2 / (1 + np.exp(0.6)))


def test_extreme_arguments_neither_overflow_nor_warn():
    far = {z: np.array([-1234.1, 1234.1])}
    assert evaluate(sigmoid(z), far).tolist() == [0.0, 1.0]
    assert evaluate(softplus(z), far).tolist() == [0.0, 1234.1]


def test_assumptions_serve_the_inequalities():
    assert sigmoid(z).is_positive and softplus(z).is_positive
    assert sigmoid(Symbol("c")).is_positive is None
    assert float(sigmoid(z).subs(z, 1).evalf()) == pytest.approx(0.731058578630005)
