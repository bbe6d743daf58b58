"""Formulas as numbers: counting from 1, branches, shapes, and no NaN in silence."""

import numpy as np
import pytest
from sympy import (
    Determinant,
    Function,
    HadamardProduct,
    Identity,
    IndexedBase,
    KroneckerDelta,
    MatrixSymbol,
    Max,
    Min,
    Piecewise,
    Product,
    Rational,
    Sum,
    Symbol,
    Trace,
    exp,
    lambdify,
    log,
    pi,
    sqrt,
    symbols,
)

from mlbook.symbolic import Expect, evaluate, random_symbol, to_numpy
from mlbook.symbolic.numeric import random_values

n, d = symbols("n d", integer=True, positive=True)
i, j = symbols("i j", integer=True)
c, u = symbols("c u", real=True)
a, K = IndexedBase("a", real=True), IndexedBase("K", real=True)
A, w = MatrixSymbol("A", n, n), MatrixSymbol("w", n, 1)


# ------------------------------------------------------------ lambdify's traps


def test_trap_constants_keep_their_shape():
    points = np.linspace(0, 1, 5)
    assert np.shape(lambdify(c, Rational(1, 2))(points)) in ((), (5,))
    half = to_numpy([c], Rational(1, 2))(points)
    assert half.shape == (5,) and (half == 0.5).all()


@pytest.mark.filterwarnings("error")
def test_trap_only_the_branch_that_applies_is_evaluated():
    function = to_numpy([u], Piecewise((log(u), u > 0), (-1, True)))
    assert function(np.array([-1.0, 0.0, 1.0])).tolist() == [-1.0, -1.0, 0.0]


def test_trap_entries_count_from_one():
    values = np.array([10.0, 20.0, 30.0])
    assert evaluate(a[1], {a: values}) == 10
    assert to_numpy([a, n], Sum(a[i], (i, 2, n)))(values, 3) == 50
    for entry in (a[0], a[4], a[-1]):
        with pytest.raises(IndexError, match="counted from 1"):
            evaluate(entry, {a: values})


def test_trap_trace_determinant_and_product():
    matrix = np.array([[2.0, 1.0], [0.5, 3.0]])
    values = {A: matrix, n: 2, a: [2.0, 5.0]}
    assert evaluate(Trace(A), values) == 5
    assert evaluate(Determinant(A), values) == pytest.approx(5.5)
    assert evaluate(Product(a[i], (i, 1, n)), values) == 10


# -------------------------------------------------------------------- scalars


@pytest.mark.parametrize("expr, right", [
    (Sum(a[i] * a[j], (i, 1, n), (j, 1, n)), 81.0),
    (Sum(K[i, j], (j, 1, i), (i, 1, n)), 1 + 4 + 5 + 7 + 8 + 9),
    (Sum(a[i], (i, 1, 0)), 0), (Product(a[i], (i, 1, 0)), 1),
    (Sum(a[i], (i, 3, 1)), 0), (Sum(KroneckerDelta(i, 2) * a[i], (i, 1, n)), 3),
    (pi, np.pi), (Rational(1, 3), 1 / 3), (Max(c, u, 0), 2.0), (Min(c, u), -1.0),
    (c**-2, 0.25), (u**3, -1.0), (sqrt(c), np.sqrt(2)), (exp(u), np.exp(-1))])
def test_values(expr, right):
    table = np.arange(1.0, 10).reshape(3, 3)
    values = {n: 3, a: [2, 3, 4], K: table, c: 2, u: -1}
    assert float(evaluate(expr, values)) == pytest.approx(right, rel=1e-15)


def test_integers_are_not_truncated():
    halves = to_numpy([a, n], Sum(a[i], (i, 1, n)) / n)
    assert halves(np.array([1, 2]), 2) == 1.5
    assert evaluate(c**-1, {c: np.array([2, 4])}).tolist() == [0.5, 0.25]


def test_matrices():
    rng = np.random.default_rng(0)
    matrix, vector = rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
    values = {A: matrix, w: vector, n: 3}
    inverse = np.linalg.inv(matrix)
    for expr, right in [
            (A.I * w, inverse @ vector), (A.T * A, matrix.T @ matrix),
            (2 * A + Identity(n), 2 * matrix + np.eye(3)),
            (A**2, matrix @ matrix), (HadamardProduct(A, A), matrix**2),
            (Trace(A) * w, np.trace(matrix) * vector)]:
        assert np.allclose(evaluate(expr, values), right, rtol=1e-10)


@pytest.mark.parametrize("expr, values", [
    (sqrt(c), {c: -1.0}), (log(c), {c: -1.0}), (c**Rational(1, 3), {c: -8.0}),
    (c, {c: np.nan}), (sqrt(c), {c: np.array([1.0, -1.0])})])
@pytest.mark.filterwarnings("error")
def test_what_is_not_a_number_is_refused(expr, values):
    with pytest.raises(ValueError, match="not a number"):
        evaluate(expr, values)


@pytest.mark.parametrize("expr, values, error, match", [
    (c + u, {c: 1}, KeyError, "no value given for u"),
    (a[1], {}, KeyError, "no value given for a"),
    (K[1, 1], {K: [1.0]}, IndexError, "2 indices"),
    (a[i], {a: [1.0], i: 0.5}, ValueError, "whole number"),
    (Function("f")(c), {c: 1}, TypeError, "cannot evaluate f"),
    (Piecewise((1, c > 0)), {c: -1.0}, ValueError, "no branch"),
    (Trace(A), {}, KeyError, "no value given for A")])
def test_bad_values_are_named(expr, values, error, match):
    with pytest.raises(error, match=match):
        evaluate(expr, values)


def test_functions_given_as_values():
    f = Function("f", real=True)
    assert evaluate(f(c) + f(2 * c), {f: np.square, c: 3.0}) == 45
    assert evaluate(a[3], {a: lambda k: 10.0 * k}) == 30


# ------------------------------------------------------------------ functions


def test_arguments_broadcast():
    function = to_numpy([c, u], c + 2 * u)
    assert function(np.ones((3, 1)), np.arange(2)).shape == (3, 2)
    result = to_numpy([c, u], c)(1.0, np.zeros(4))
    assert result.shape == (4,)
    result[0] = 7  # a copy of its own, not a read-only view of one number
    assert result.tolist() == [7, 1, 1, 1]


@pytest.mark.parametrize("arguments, expr, match", [
    ([c], c + u, "depends on u"), ([c], Sum(a[i], (i, 1, n)), "depends on a, n"),
    ([w], Trace(A), "depends on A")])
def test_every_unknown_is_an_argument(arguments, expr, match):
    with pytest.raises(ValueError, match=match):
        to_numpy(arguments, expr)


def test_wrong_number_of_arguments_or_an_entry():
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        to_numpy([c, u], c + u)(1.0)
    with pytest.raises(TypeError, match="whole array"):
        to_numpy([a[1]], a[1])


# -------------------------------------------------------------- random values


def test_random_values_follow_the_assumptions():
    positive = Symbol("p", positive=True)
    exprs = [Sum(a[i], (i, 1, n)) + positive + a[j]]
    for seed in range(20):
        values = random_values(exprs, {}, np.random.default_rng(seed))
        assert 2 <= values[n] <= 4 and 1 <= values[j] <= 2 and 0.1 <= values[positive]
        assert np.isfinite(evaluate(exprs[0], values))
    twice = [random_values(exprs, {n: 3}, np.random.default_rng(5)) for _ in "ab"]
    assert evaluate(exprs[0], twice[0]) == evaluate(exprs[0], twice[1])


def test_the_unknown_varies_with_its_index():
    """Else sum_i E[T_i] sum_j a_j would agree with n sum_i a_i E[T_i]."""
    f, x = Function("f", real=True), random_symbol("X")
    T = IndexedBase(random_symbol("T"))
    for make in (lambda k: Expect(T[k]), lambda k: f(a[k]), lambda k: Expect(T[k] * x)):
        left = Sum(make(i), (i, 1, n)) * Sum(a[j], (j, 1, n))
        right = n * Sum(a[i] * make(i), (i, 1, n))
        values = random_values([left], {n: 3}, np.random.default_rng(0))
        assert abs(evaluate(left, values) - evaluate(right, values)) > 1e-3
        again = Sum(make(j), (j, 1, n)) * Sum(a[i], (i, 1, n))
        assert evaluate(left, values) == pytest.approx(float(evaluate(again, values)))
