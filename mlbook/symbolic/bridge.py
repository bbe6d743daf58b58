"""The bridge from a derived formula to the package's own function."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sympy import Dummy, IndexedBase, sympify

from mlbook.symbolic.notation import Array, Scalar, Term, as_term
from mlbook.symbolic.numeric import evaluate, unknowns


class Disagreement(AssertionError):
    """The formula and the function give different numbers; the message shows where."""


@dataclass(frozen=True)
class Agreement:
    """The outcome of ``agree``: what was compared, how often, and how closely.

    ``largest`` is the largest difference met, relative to 1 + |value|; the text shows
    only the tolerance it stayed below, which does not vary between processors.
    """

    name: str
    trials: int
    sizes: str
    largest: float
    tolerance: float

    def __str__(self) -> str:
        sizes = f" with {self.sizes}" if self.sizes else ""
        return (f"{self.name} agrees with the formula on {self.trials} random inputs"
                f"{sizes}: largest difference below {self.tolerance:.0e}")

    __repr__ = __str__


def agree(formula: object, implementation: Callable, arguments: Sequence[Term], *,
          sizes: Mapping[Term, tuple[int, int]] | None = None,
          ranges: Mapping[Term, tuple[float, float]] | None = None,
          name: str | None = None, trials: int = 50, tolerance: float = 1e-12,
          random_state: int = 0) -> Agreement:
    """Hold a derived formula against a function of the package on random inputs.

    Parameters
    ----------
    formula : Term
        A scalar, or an array with a symbolic shape.
    implementation : callable
        Called with one number or array for each argument, in their order; must return
        a number, or an array of the formula's shape.
    arguments : sequence of Term
        Names (of numbers, sizes, vectors, matrices) that the formula depends on.
    sizes : mapping
        Smallest and largest value of every size, drawn anew in each trial.
    ranges : mapping
        Interval for a number or for the entries of an array. Without one, quantities
        that are positive by assumption come from (0.1, 2), the others are normal.
    name : str, optional
        What the implementation is called in the report; its own name by default.

    Raises
    ------
    Disagreement
        If a difference exceeds ``tolerance`` relative to 1 + |value|, or is not a
        number.
    """
    formula = as_term(formula)
    sizes = {as_term(k).meaning: v for k, v in (sizes or {}).items()}
    ranges = {as_term(k).symbol: v for k, v in (ranges or {}).items()}
    if trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials}")
    for key, (low, high) in sizes.items():
        if not 1 <= low <= high:
            raise ValueError(f"sizes of {key}: expected 1 <= smallest <= largest, got "
                             f"{low} and {high}")
    _refuse_unknown(formula, arguments, sizes, ranges)
    name = name or f"{implementation.__module__}.{implementation.__qualname__}"
    rng = np.random.default_rng(random_state)
    largest = 0.0
    for _ in range(trials):
        values: dict = {k: int(rng.integers(low, high + 1))
                        for k, (low, high) in sizes.items()}
        for argument in arguments:
            key = argument.symbol
            if key not in values:
                values[key] = _draw(argument, values, ranges.get(key), rng)
        expected = _evaluate_term(formula, values)
        given = [np.copy(values[q.symbol]) if isinstance(q, Array) else values[q.symbol]
                 for q in arguments]
        found = np.asarray(implementation(*given), dtype=float)
        if found.shape != expected.shape:
            raise Disagreement(f"{name} returned shape {found.shape}, the formula has "
                               f"{expected.shape}")
        off = np.max(np.abs(found - expected) / (1 + np.abs(expected)), initial=0.0)
        if not off <= tolerance:
            raise Disagreement(_report(name, arguments, values, expected, found))
        largest = max(largest, float(off))
    shown = ", ".join(f"{k} = {low} to {high}" if low < high else f"{k} = {low}"
                      for k, (low, high) in sizes.items())
    return Agreement(name, trials, shown, largest, tolerance)


def _refuse_unknown(formula: Term, arguments: Sequence[Term], sizes: Mapping,
                    ranges: Mapping) -> None:
    """Every name in the formula needs a value, and every range a name."""
    keys = {q.symbol for q in arguments}
    entry = formula.at(*(Dummy(integer=True) for _ in formula.shape))
    missing = unknowns(entry) - keys - set(sizes)
    missing = sorted(str(getattr(q, "label", q)) for q in missing
                     if not isinstance(q, Dummy))
    if missing:
        raise ValueError(f"the formula depends on {', '.join(missing)}: neither an "
                         "argument nor one of the sizes")
    unused = sorted(str(getattr(q, "label", q)) for q in set(ranges) - keys)
    if unused:
        raise ValueError(f"ranges for {', '.join(unused)}, which is not an argument")


def _draw(argument: Term, values: dict, interval: tuple[float, float] | None,
          rng: np.random.Generator) -> np.ndarray | float:
    shape: tuple[int, ...] = ()
    label = argument.symbol
    if isinstance(argument, Array):
        if argument.fixed:
            raise TypeError(f"pass the whole array {argument.symbol.label}, not the "
                            f"entry {argument}")
        shape = tuple(int(evaluate(q, values)) for q in argument.full_shape)
        label = argument.symbol.label
    elif not isinstance(argument, Scalar):
        raise TypeError(f"{argument} is not a name that can be given a value")
    if interval is None and label.is_integer:
        raise ValueError(f"{argument} is a whole number: give its bounds in sizes=")
    if interval is None:
        interval = (0.1, 2.0) if label.is_nonnegative else None
    drawn = (rng.normal(size=shape) if interval is None
             else rng.uniform(*interval, shape))
    return drawn if shape or isinstance(argument, Array) else float(drawn)


def _evaluate_term(formula: Term, values: dict) -> np.ndarray:
    shape = tuple(int(evaluate(sympify(q), values)) for q in formula.shape)
    result = np.empty(shape)
    for place in np.ndindex(*shape):
        entry = formula.at(*(sympify(k + 1) for k in place))
        result[place] = evaluate(entry, values)
    return result


def _report(name: str, arguments: Sequence[Term], values: dict, expected: np.ndarray,
            found: np.ndarray) -> str:
    inputs = ", ".join(
        f"{a.symbol.label if isinstance(a.symbol, IndexedBase) else a} = "
        f"{np.array2string(np.asarray(values[a.symbol]), precision=4)}"
        for a in arguments)
    return (f"{name} returned {np.array2string(found, precision=8)}, the formula gives "
            f"{np.array2string(expected, precision=8)} at {inputs}")


def key_lines(function: Callable, signature: bool = True) -> str:
    """The source of a function without its docstring, to be shown on a page.

    Read from the module itself, so that the page cannot show code that does not run.
    ``signature=False`` leaves only the body.
    """
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    (node,) = ast.parse("\n".join(lines)).body
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    body = lines[statements[0].lineno - 1:]
    if not signature:
        return textwrap.dedent("\n".join(body))
    return "\n".join(lines[:node.body[0].lineno - 1] + body)
