"""Gradients of matrix expressions in the denominator layout.

SymPy 1.14 returns 0 for several gradients that are not zero, without a word. Every
gradient here is rewritten into a form SymPy handles, and then compared with central
differences at a random point: a symbolic answer without a numerical witness is refused.
"""

from __future__ import annotations

import numpy as np
from sympy import (
    Add,
    Determinant,
    Expr,
    MatAdd,
    MatrixBase,
    MatrixExpr,
    MatrixSymbol,
    Sum,
    Symbol,
    Trace,
    ZeroMatrix,
    sympify,
)
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.tensor.array.expressions.array_expressions import _ArrayExpr

from mlbook.symbolic.numeric import evaluate

_SIZES = (3, 2, 4, 5, 6)


class GradientError(ValueError):
    """SymPy's answer is not the gradient, or there is none to be had."""


def gradient(scalar: Expr, variable: MatrixSymbol) -> MatrixExpr:
    """Gradient of a scalar by a matrix, of the matrix's own shape.

    Entry (i, j) is the derivative of the scalar by entry (i, j) of ``variable``. A
    1x1 matrix such as w'x counts as a scalar.

    Raises
    ------
    GradientError
        If SymPy cannot express the gradient, or if what it gives differs from central
        differences (its false zeros among them).
    """
    if not isinstance(variable, MatrixSymbol):
        raise TypeError(f"expected a MatrixSymbol to differentiate by, got {variable}")
    scalar = _as_scalar(sympify(scalar))
    total: MatrixExpr = ZeroMatrix(*variable.shape)
    for term in Add.make_args(scalar.expand()):
        total = total + _gradient_of_term(term, variable)
    total = total.doit()
    _witness(scalar, variable, total)
    return total


def _as_scalar(expr: Expr) -> Expr:
    """Wrap every 1x1 matrix in a trace: SymPy differentiates traces correctly."""
    if isinstance(expr, (MatrixExpr, MatrixBase)):
        if expr.shape != (1, 1):
            raise ValueError(f"expected a scalar, got a matrix of shape {expr.shape}")
        parts = expr.expand().args if isinstance(expr.expand(), MatAdd) else (expr,)
        return Add(*[Trace(part) for part in parts])
    # (w.T*x)[0, 0] turns itself into a sum over entries: read it back as a matrix
    expr = expr.replace(lambda q: isinstance(q, Sum) and q.has(MatrixElement),
                        lambda q: _as_scalar(_from_entries(q)))
    expr = expr.replace(
        lambda q: isinstance(q, MatrixElement) and q.parent.shape == (1, 1),
        lambda q: _as_scalar(q.parent))
    # tr(A + B) and the like are split so that each trace stands alone
    return expr.replace(
        lambda q: isinstance(q, Trace) and isinstance(q.arg, MatAdd),
        lambda q: Add(*[Trace(part) for part in q.arg.args]))


def _from_entries(total: Sum) -> Expr:
    dummies = list(total.variables)
    matrix = MatrixExpr.from_index_summation(total)
    if matrix.has(*dummies):
        raise GradientError(f"cannot read {total} as a matrix expression: "
                            "derive it in index form with partial()")
    return matrix


def _gradient_of_term(term: Expr, variable: MatrixSymbol) -> MatrixExpr:
    """Chain rule over the matrix scalars (traces, determinants) inside one term."""
    atoms = sorted((q for q in term.atoms(Trace, Determinant, MatrixElement)
                    if q.has(variable)), key=str)
    outermost = [q for q in atoms if not any(q != o and o.has(q) for o in atoms)]
    names = {q: Symbol(f"_u{k}") for k, q in enumerate(outermost)}
    skeleton = term.xreplace(names)
    if skeleton.has(variable):
        raise GradientError(f"cannot differentiate {term} by {variable}")
    result: MatrixExpr = ZeroMatrix(*variable.shape)
    back = {symbol: q for q, symbol in names.items()}
    for atom, symbol in names.items():
        outer = skeleton.diff(symbol).xreplace(back)
        result = result + outer * _gradient_of_atom(atom, variable)
    return result


def _gradient_of_atom(atom: Expr, variable: MatrixSymbol) -> MatrixExpr:
    if isinstance(atom, Determinant):
        # d det F = det F tr(F^-1 dF): differentiate with the inverse held fixed
        held = MatrixSymbol("_held", atom.arg.rows, atom.arg.cols)
        inner = _gradient_of_atom(Trace(held * atom.arg), variable)
        return atom * inner.xreplace({held: atom.arg.I})
    if isinstance(atom, Trace) and isinstance(atom.arg.expand(), MatAdd):
        parts = atom.arg.expand().args
        return Add(*[_gradient_of_atom(Trace(q), variable) for q in parts])
    result = atom.diff(variable)
    if isinstance(result, _ArrayExpr) or result.atoms(_ArrayExpr):
        raise GradientError(
            f"SymPy leaves an array expression for the derivative of {atom} by "
            f"{variable}: derive it in index form with partial()")
    return result


def _witness(scalar: Expr, variable: MatrixSymbol, result: MatrixExpr) -> None:
    """Compare with central differences at one random point; raise if they differ."""
    numbers = _random_point(scalar, result, variable)
    point = numbers[variable]
    shown = np.broadcast_to(evaluate(result, numbers), point.shape)
    step, numeric = 1e-5, np.empty_like(point)
    for place in np.ndindex(*point.shape):
        values = []
        for sign in (1, -1):
            moved = point.copy()
            moved[place] += sign * step
            values.append(evaluate(scalar, {**numbers, variable: moved}).item())
        numeric[place] = (values[0] - values[1]) / (2 * step)
    gap = np.abs(shown - numeric).max()
    if not gap <= 1e-6 * (1 + np.abs(numeric).max()):
        raise GradientError(
            f"SymPy's derivative of {scalar} by {variable} is {result}, but central "
            f"differences at a random point differ by up to {gap:.3g}")


def _random_point(scalar: Expr, result: Expr, variable: MatrixSymbol) -> dict:
    matrices = scalar.atoms(MatrixSymbol) | result.atoms(MatrixSymbol) | {variable}
    sizes = sorted({s for m in matrices for q in m.shape for s in q.free_symbols},
                   key=str)
    numbers: dict = {s: _SIZES[k % len(_SIZES)] for k, s in enumerate(sizes)}
    rng = np.random.default_rng(0)
    for matrix in sorted(matrices, key=str):
        shape = tuple(int(sympify(q).xreplace(numbers)) for q in matrix.shape)
        draw = rng.uniform(0.2, 1.0, shape)
        # well away from singular, with positive determinant
        numbers[matrix] = draw + 2 * np.eye(*shape) if shape[0] == shape[1] else draw
    rest = (scalar.free_symbols | result.free_symbols) - set(numbers)
    for symbol in sorted(rest, key=str):
        numbers[symbol] = rng.uniform(0.4, 0.9)
    return numbers
