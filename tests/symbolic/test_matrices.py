"""Matrix gradients: SymPy's false zeros, and the right answers in their place."""

import numpy as np
import pytest
from sympy import (
    Determinant,
    Identity,
    Matrix,
    MatrixSymbol,
    Symbol,
    Trace,
    ZeroMatrix,
    exp,
    log,
    symbols,
)

from mlbook.symbolic import GradientError, evaluate, gradient
from mlbook.symbolic import matrices as module

n, d = symbols("n d", integer=True, positive=True)
A, B = MatrixSymbol("A", d, d), MatrixSymbol("B", d, d)
X = MatrixSymbol("X", n, d)
w, x, y = MatrixSymbol("w", d, 1), MatrixSymbol("x", d, 1), MatrixSymbol("y", n, 1)
lam = Symbol("lamda", positive=True)


def raw(scalar, variable):
    """What SymPy alone says; None where it raises or leaves an array expression."""
    try:
        return scalar.diff(variable)
    except Exception:  # whatever a version of SymPy may raise
        return None


TRAPS = [
    # scalar, variable, right answer, what SymPy 1.14 says on its own
    (log(Determinant(A)), A, A.T.I, ZeroMatrix(d, d)),
    (Trace(A) + Trace(A**2), A, Identity(d) + 2 * A.T, ZeroMatrix(d, d)),
    ((x.T * A * x)[0, 0], x, A * x + A.T * x, ZeroMatrix(d, 1)),
    (exp(-Trace(w.T * w)), w, -2 * exp(-Trace(w.T * w)) * w, ZeroMatrix(d, 1)),
    (log(1 + exp(-(w.T * x)[0, 0])), w,
     -x / (1 + exp(Trace(w.T * x))), ZeroMatrix(d, 1)),
]
IDS = ["log det", "sum of traces", "quadratic form", "exp of a trace", "logistic loss"]


def numbers_for(*matrices, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {n: 4, d: 3}
    values = {**sizes, lam: 0.7}
    for matrix in matrices:
        shape = [int(q.subs(sizes)) for q in matrix.shape]
        values[matrix] = rng.normal(size=shape)
        if shape[0] == shape[1]:
            values[matrix] += 4 * np.eye(shape[0])
    return values


@pytest.mark.parametrize("scalar, variable, right, _", TRAPS, ids=IDS)
def test_trap_has_the_right_answer(scalar, variable, right, _):
    values = numbers_for(A, w, x)
    found = gradient(scalar, variable)
    assert np.allclose(evaluate(found, values), evaluate(right, values), rtol=1e-12)


@pytest.mark.parametrize("scalar, variable, right, wrong", TRAPS, ids=IDS)
def test_sympy_alone_falls_into_the_trap(scalar, variable, right, wrong):
    """Says why the module exists; a SymPy that has mended it passes as well."""
    answer = raw(scalar, variable)
    if answer is None or answer == 0 or answer == wrong:
        return
    values = numbers_for(A, w, x)
    try:
        shown = evaluate(answer, values)
    except (TypeError, ValueError, KeyError):
        return  # an array expression, which is no answer either
    assert np.allclose(shown, evaluate(right, values))


@pytest.mark.parametrize("scalar, variable, right", [
    (w.T * x, w, x),
    (Trace(A * B), A, B.T),
    ((X * w - y).T * (X * w - y), w, 2 * X.T * X * w - 2 * X.T * y),
    ((X * w - y).T * (X * w - y) + lam * w.T * w, w,
     2 * X.T * X * w - 2 * X.T * y + 2 * lam * w),
    (log(Determinant(A * B)), A, A.T.I),
    (Trace(A.I * B), A, -(A.I * B * A.I).T),
    (Determinant(A), A, Determinant(A) * A.T.I),
    (Trace(A) ** 2, A, 2 * Trace(A) * Identity(d))])
def test_textbook_gradients(scalar, variable, right):
    values = numbers_for(A, B, X, w, x, y, seed=1)
    found = evaluate(gradient(scalar, variable), values)
    assert np.allclose(found, evaluate(right, values), rtol=1e-10)


@pytest.mark.parametrize("scalar", [
    log(Determinant(A)), Trace(A.T * A * B), Trace(A) * Trace(A * B), Trace(A**3)])
def test_gradient_is_in_the_denominator_layout(scalar):
    """Entry (i, j) is the derivative by entry (i, j): against central differences."""
    values = numbers_for(A, B, seed=2)
    found = evaluate(gradient(scalar, A), values)
    for place in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[place] = 1e-5
        up, down = (float(evaluate(scalar, {**values, A: values[A] + s * step}))
                    for s in (1, -1))
        assert found[place] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-7)


def test_a_constant_has_gradient_zero():
    assert gradient(Trace(B), A) == ZeroMatrix(d, d)


def test_a_wrong_answer_from_sympy_is_refused(monkeypatch):
    """Plant a false gradient: the numerical witness must object."""
    monkeypatch.setattr(module, "_gradient_of_atom",
                        lambda atom, variable: ZeroMatrix(*variable.shape))
    with pytest.raises(GradientError, match="central differences"):
        gradient(Trace(A * B), A)
    monkeypatch.setattr(module, "_gradient_of_atom", lambda atom, variable: B)
    with pytest.raises(GradientError, match="central differences"):
        gradient(Trace(A * B), A)


def test_elementwise_functions_are_refused_or_right():
    """``applyfunc`` inside a trace gives mismatched Hadamard products in SymPy."""
    scalar = Trace((X * w).applyfunc(exp).T * y)
    with pytest.raises((GradientError, TypeError, ValueError)):
        gradient(scalar, w)


@pytest.mark.parametrize("scalar, variable, error", [
    (A * B, A, "expected a scalar"), (Trace(A), Symbol("a"), "expected a MatrixSymbol"),
    (Matrix([[1, 2], [3, 4]]), A, "expected a scalar")])
def test_bad_input_is_named(scalar, variable, error):
    with pytest.raises((ValueError, TypeError), match=error):
        gradient(scalar, variable)
