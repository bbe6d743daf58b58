"""From formula to number: evaluation, NumPy functions, and the bridge to the package.

``lambdify`` is not used: it counts from 0, evaluates every branch of a ``Piecewise``,
lets constants lose their shape and knows neither products nor determinants. A formula
is walked instead, node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Indexed, IndexedBase, MatrixSymbol, Piecewise, Symbol, sympify
from sympy.core.function import AppliedUndef
from sympy.matrices.expressions.matexpr import MatrixElement

from mlbook.symbolic.expectation import Expect
from mlbook.symbolic.functions import sigmoid, softplus


def _sigmoid(z: np.ndarray) -> np.ndarray:
    # exp of a negative number only, so that nothing overflows
    decay = np.exp(-np.abs(z))
    return np.where(np.asarray(z) >= 0, 1 / (1 + decay), decay / (1 + decay))


_FUNCTIONS: dict = {
    sympy.exp: np.exp, sympy.log: np.log, sympy.Abs: np.abs, sympy.sign: np.sign,
    sympy.sin: np.sin, sympy.cos: np.cos, sympy.tanh: np.tanh, sympy.sinh: np.sinh,
    sympy.cosh: np.cosh, sympy.floor: np.floor, sympy.ceiling: np.ceil,
    sigmoid: _sigmoid, softplus: lambda z: np.logaddexp(0, z),
}
_RELATIONS: dict = {
    sympy.Eq: np.equal, sympy.Ne: np.not_equal, sympy.Lt: np.less,
    sympy.Le: np.less_equal, sympy.Gt: np.greater, sympy.Ge: np.greater_equal,
    sympy.And: lambda *q: np.logical_and.reduce(np.broadcast_arrays(*q)),
    sympy.Or: lambda *q: np.logical_or.reduce(np.broadcast_arrays(*q)),
    sympy.Not: np.logical_not,
}


def evaluate(expr: Expr, values: Mapping[Any, Any]) -> np.ndarray:
    """Value of a formula in float64.

    Parameters
    ----------
    expr : Expr
        May hold sums and products with bounds that ``values`` makes integers, indexed
        entries (counted from 1), matrix expressions and ``Piecewise``.
    values : mapping
        A number or array for each symbol (arrays broadcast), an array (or a function of
        the indices) for each ``IndexedBase``, an array for each ``MatrixSymbol``. A key
        may also be any subexpression.

    Raises
    ------
    KeyError
        If a symbol has no value.
    IndexError
        If an entry lies outside its array.
    ValueError
        If the result is not a number, such as the root of -1.
    """
    with np.errstate(invalid="ignore"):
        result = np.asarray(_value(sympify(expr), dict(values)))
    if result.dtype.kind == "f" and np.isnan(result).any():
        raise ValueError(f"{expr} is not a number at the values given")
    return result


def _value(expr: Expr, values: dict):
    if expr in values:
        return values[expr]
    if expr.is_Number or expr.is_NumberSymbol:
        return float(expr)
    if isinstance(expr, Expect) and Expect in values:
        return values[Expect](_at_whole_numbers(expr, values))
    if isinstance(expr, Indexed):
        return _entry(expr, values)
    if isinstance(expr, (Symbol, MatrixSymbol)):
        raise KeyError(f"no value given for {expr}")
    if isinstance(expr, MatrixElement):  # these count from 0, as SymPy does
        row, column = (_whole(q, values) for q in expr.indices)
        return np.asarray(_value(expr.parent, values))[row, column]
    if isinstance(expr, (sympy.Sum, sympy.Product)):
        return _repeated(expr, values)
    if isinstance(expr, Piecewise):
        return _piecewise(expr, values)
    if isinstance(expr, sympy.KroneckerDelta):
        left, right = (_value(q, values) for q in expr.args)
        return np.equal(left, right).astype(float)
    if expr is sympy.true or expr is sympy.false:
        return bool(expr)
    if type(expr) in _RELATIONS:
        return _RELATIONS[type(expr)](*(_value(q, values) for q in expr.args))
    if getattr(expr, "is_Matrix", False) or isinstance(
            expr, (sympy.Trace, sympy.Determinant)):
        return _matrix(expr, values)
    return _scalar(expr, values)


def _scalar(expr: Expr, values: dict):
    args = [_value(q, values) for q in expr.args]
    if expr.is_Add:
        return sum(args[1:], args[0])
    if expr.is_Mul:
        product = args[0]
        for factor in args[1:]:
            product = product * factor
        return product
    if expr.is_Pow:
        if expr.exp == sympy.Rational(1, 2):
            return np.sqrt(args[0])
        return np.asarray(args[0], dtype=float) ** args[1]
    if isinstance(expr, (sympy.Max, sympy.Min)):
        pick = np.maximum if isinstance(expr, sympy.Max) else np.minimum
        result = args[0]
        for other in args[1:]:
            result = pick(result, other)
        return result
    if isinstance(expr, AppliedUndef) and expr.func in values:
        return values[expr.func](*args)
    if expr.func not in _FUNCTIONS:
        raise TypeError(f"cannot evaluate {expr.func.__name__} in {expr}")
    return _FUNCTIONS[expr.func](*args)


def _at_whole_numbers(expr: Expr, values: dict) -> Expr:
    """``expr`` with its indices and sizes written as the numbers that they are."""
    return expr.xreplace({q: sympify(values[q]) for q in expr.free_symbols
                          if q.is_integer and q in values})


def _whole(expr: Expr, values: dict) -> int:
    number = _value(expr, values)
    if np.ndim(number) or number != int(number):
        raise ValueError(f"{expr} must be a whole number, got {number}")
    return int(number)


def _entry(expr: Indexed, values: dict):
    if expr.base not in values:
        raise KeyError(f"no value given for {expr.base.label}")
    array = values[expr.base]
    if callable(array):
        return array(*(_whole(q, values) for q in expr.indices))
    array = np.asarray(array)
    if array.ndim != len(expr.indices):
        raise IndexError(f"{expr} has {len(expr.indices)} indices, its value has shape "
                         f"{array.shape}")
    place = tuple(_whole(q, values) for q in expr.indices)
    if not all(1 <= k <= size for k, size in zip(place, array.shape)):
        raise IndexError(f"{expr} at {place} lies outside an array of shape "
                         f"{array.shape} (entries are counted from 1)")
    return array[tuple(k - 1 for k in place)]


def _repeated(expr, values: dict):
    """A sum or product, the outermost index first (SymPy lists it last)."""
    *inner, (v, low, high) = expr.limits
    body = expr.func(expr.function, *inner) if inner else expr.function
    is_sum = isinstance(expr, sympy.Sum)
    result = 0.0 if is_sum else 1.0
    for k in range(_whole(low, values), _whole(high, values) + 1):
        term = _value(body, {**values, v: k})
        result = result + term if is_sum else result * term
    return result


def _piecewise(expr: Piecewise, values: dict):
    """Each branch only where its condition holds, so that no other one can warn."""
    arrays = {k: np.asarray(q) for k, q in values.items()
              if isinstance(k, Symbol) and np.ndim(q)}
    shape = np.broadcast_shapes(*(q.shape for q in arrays.values()))
    left = np.ones(shape, dtype=bool)
    result = np.full(shape, np.nan)
    for branch, condition in expr.args:
        local = {k: np.broadcast_to(q, shape)[left] for k, q in arrays.items()}
        holds = np.zeros(shape, dtype=bool)
        holds[left] = _value(condition, {**values, **local})
        if holds.any():
            local = {k: np.broadcast_to(q, shape)[holds] for k, q in arrays.items()}
            result[holds] = _value(branch, {**values, **local})
        left &= ~holds
    if left.any():
        raise ValueError(f"no branch of {expr} applies at some of the values given")
    return result


def _matrix(expr, values: dict):
    if isinstance(expr, sympy.MatrixBase):
        rows = [[_value(q, values) for q in row] for row in expr.tolist()]
        return np.array(rows, dtype=float)
    if isinstance(expr, (sympy.Identity, sympy.ZeroMatrix)):
        shape = tuple(_whole(q, values) for q in expr.shape)
        return np.eye(shape[0]) if isinstance(expr, sympy.Identity) else np.zeros(shape)
    args = [_value(q, values) for q in expr.args]
    if isinstance(expr, sympy.Trace):
        return np.trace(args[0])
    if isinstance(expr, sympy.Determinant):
        return np.linalg.det(args[0])
    if isinstance(expr, sympy.Transpose):
        return args[0].T
    if isinstance(expr, sympy.MatAdd):
        return sum(args[1:], args[0])
    if isinstance(expr, sympy.MatMul):
        result = args[0]
        for factor in args[1:]:
            matrices = np.ndim(result) and np.ndim(factor)
            result = result @ factor if matrices else result * factor
        return result
    if isinstance(expr, sympy.Inverse):
        return np.linalg.solve(args[0], np.eye(len(args[0])))
    if isinstance(expr, sympy.MatPow):
        return np.linalg.matrix_power(args[0], int(args[1]))
    if isinstance(expr, sympy.HadamardProduct):
        return np.prod(np.broadcast_arrays(*args), axis=0)
    raise TypeError(f"cannot evaluate {type(expr).__name__} in {expr}")


def random_values(exprs: Sequence[Expr], sizes: Mapping[Symbol, int],
                  rng: np.random.Generator) -> dict:
    """Random numbers for everything the expressions depend on, by its assumptions.

    Positive quantities come from (0.1, 0.9), so that they serve as rates and
    probabilities too; other reals are normal; sizes not given are 2 to 4 and free
    indices 1 or 2, which lies inside every range.
    """
    values: dict = dict(sizes)
    needed = set().union(*(unknowns(q) for q in exprs))
    for key in sorted(needed - set(values), key=str):
        if isinstance(key, IndexedBase):
            values[key] = _random_entries(key, rng)
        elif isinstance(key, MatrixSymbol):
            shape = tuple(_whole(sympify(q), values) for q in key.shape)
            values[key] = rng.normal(size=shape)
        elif key.is_integer:
            values[key] = int(rng.integers(2, 5) if key.is_positive
                              else rng.integers(1, 3))
        else:
            values[key] = _random_number(key, rng)
    # what is unknown still varies with its indices and arguments
    values[Expect] = _random_expectation(rng)
    unknown = {q.func for e in exprs for q in e.atoms(AppliedUndef)}
    for key in sorted(unknown, key=str):
        values.setdefault(key, _random_function(rng))
    return values


def _random_expectation(rng: np.random.Generator) -> Callable:
    drawn: dict = {}
    return lambda expr: drawn.setdefault(expr, float(rng.normal()))


def _random_function(rng: np.random.Generator) -> Callable:
    phase, slopes = rng.uniform(0, 6), rng.uniform(0.5, 2, size=9)
    return lambda *args: np.cos(phase + sum(k * q for k, q in zip(slopes, args)))


def _random_number(key: Symbol, rng: np.random.Generator) -> float:
    return float(rng.uniform(0.1, 0.9) if key.is_nonnegative else rng.normal())


def _random_entries(base: IndexedBase, rng: np.random.Generator) -> Callable:
    drawn: dict = {}

    def entry(*place: int) -> float:
        if place not in drawn:
            drawn[place] = _random_number(base.label, rng)
        return drawn[place]

    return entry


def to_numpy(arguments: Sequence[Any], expr: Expr) -> Callable[..., np.ndarray]:
    """The formula as a function of arrays, in the order of ``arguments``.

    Symbols take numbers or arrays that broadcast against each other, and so does the
    result, even where the formula is a constant. Indexed symbols take arrays of their
    own number of indices, sizes take whole numbers.
    """
    arguments = [_key(q) for q in arguments]
    expr = sympify(getattr(expr, "meaning", expr))
    unknown = unknowns(expr) - set(arguments)
    if unknown:
        names = ", ".join(sorted(str(getattr(q, "label", q)) for q in unknown))
        raise ValueError(f"the formula depends on {names}, which is not an argument")

    def function(*numbers: Any) -> np.ndarray:
        if len(numbers) != len(arguments):
            raise TypeError(f"expected {len(arguments)} arguments, got {len(numbers)}")
        values = dict(zip(arguments, map(np.asarray, numbers)))
        shapes = [q.shape for k, q in values.items() if isinstance(k, Symbol)]
        result = evaluate(expr, values)
        if result.ndim == 2 and not shapes:
            return result
        return np.array(np.broadcast_to(
            result, np.broadcast_shapes(result.shape, *shapes)))

    return function


def _key(argument: Any):
    """What the evaluator looks a value up by: a symbol, an array's base, a matrix."""
    argument = getattr(argument, "symbol", argument)
    if isinstance(argument, Indexed):
        raise TypeError(f"pass the whole array, not its entry {argument}")
    return sympify(argument) if not isinstance(argument, IndexedBase) else argument


def unknowns(expr: Expr) -> set:
    """Symbols, arrays and matrices that need a value."""
    bases = {q.base for q in expr.atoms(Indexed)}
    matrices = expr.atoms(MatrixSymbol)
    labels = {q.label for q in bases} | {q.args[0] for q in matrices}
    symbols = {q for q in expr.free_symbols
               if isinstance(q, Symbol) and q not in labels}
    return symbols | bases | matrices
