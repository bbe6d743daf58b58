"""Random nested sums: what the algebra of sums must never get wrong.

The oracle is arithmetic: both sides at small sizes and random numbers. A generator with
a seed of its own makes every case, so that nothing depends on the order of the tests.
"""

import random
from collections.abc import Iterator

import pytest
from sympy import Expr, Integer, Mul, Sum, Symbol, expand, symbols

from mlbook.symbolic import identical, normal_form, partial, replace_indexed
from tests.symbolic.random_sums import (
    a,
    c,
    d,
    i,
    j,
    n,
    near_miss,
    random_expression,
    value,
    w,
    x,
    y,
)

# entries up to 2 are named and ranges end at n - 2 or d - 1: all of them are in range
SMALL = [{n: 4, d: 3}, {n: 5, d: 3}, {n: 4, d: 5}]
l, m = symbols("l m", integer=True)


def differs(left: Expr, right: Expr, sizes=SMALL, seeds=(0, 1)) -> bool:
    """Do the two have different values at some small size?"""
    for size in sizes:
        for seed in seeds:
            this, other = value(left, seed, size), value(right, seed, size)
            if abs(this - other) > 1e-9 * (1 + abs(this)):
                return True
    return False


def expressions(first: int, count: int, depth: int, deltas: bool) -> Iterator:
    for seed in range(first, first + count):
        rng = random.Random(seed)
        yield rng, random_expression(rng, depth, deltas=deltas)


@pytest.mark.parametrize("depth, count, deltas", [
    (3, 150, False), (3, 200, True), (4, 30, True)])
def test_normal_form_keeps_the_value_and_is_idempotent(depth, count, deltas):
    for _, expr in expressions(1000, count, depth, deltas):
        form = normal_form(expr)
        assert normal_form(form) == form, expr
        assert not differs(expr, form, seeds=(0,)), expr


@pytest.mark.parametrize("variable, at", [
    (y[l], 2), (w[l], 1), (w[l], 2), (c, None)])
def test_partial_is_explicit_differentiation_at_small_sizes(variable, at):
    for _, expr in expressions(2000, 40, 3, True):
        slope = partial(expr, variable)
        sizes = {n: 3, d: 3}
        written_out = expr.subs(sizes).doit()
        if at is None:
            explicit = written_out.diff(variable)
        else:
            slope = slope.xreplace({l: Integer(at)})
            explicit = written_out.diff(variable.xreplace({l: Integer(at)}))
        assert not differs(slope, explicit.doit(), [sizes], (0,)), expr


@pytest.mark.parametrize("first, count, depth, deltas", [
    (0, 1900, 2, False), (10_000, 650, 3, False), (20_000, 350, 3, True),
    (30_000, 110, 4, True)])
def test_identical_never_affirms_a_near_miss(first, count, depth, deltas):
    decided = 0
    for rng, expr in expressions(first, count, depth, deltas):
        other = near_miss(rng, expr)
        affirmed = identical(expr, other)
        if affirmed:
            assert not differs(expr, other), (expr, other)
        decided += not affirmed and expr != other
    assert decided > 0.85 * count  # the misses do miss: the test has work to do


def _renamed(expr: Expr, new: dict) -> Expr:
    """Other letters for the bound indices, inside and out."""
    if isinstance(expr, Sum):
        limits = [(new[v], low.xreplace(new), high.xreplace(new))
                  for v, low, high in expr.limits]
        return Sum(_renamed(expr.function, new).xreplace(new), *limits)
    if not expr.args or expr.is_Indexed:
        return expr
    return expr.func(*(_renamed(q, new) for q in expr.args))


def _reordered(rng: random.Random, expr: Expr) -> Expr:
    """Sums of sums for sums over products, and products of sums as double sums."""
    if isinstance(expr, Sum):
        inner = _reordered(rng, expr.function)
        if inner.is_Add and rng.random() < 0.7:
            return expr.func(inner.args[0], *expr.limits) + expr.func(
                inner.func(*inner.args[1:]), *expr.limits)
        return expr.func(inner, *expr.limits)
    if expr.is_Mul:
        sums = [q for q in expr.args if isinstance(q, Sum)]
        rest = [q for q in expr.args if q not in sums]
        if sums and not any(v in q.free_symbols for v in sums[0].variables
                            for q in [*rest, *sums[1:]]):
            into = Mul(sums[0].function, *rest, *sums[1:])
            return Sum(into, *sums[0].limits)
    if not expr.args or expr.is_Indexed:
        return expr
    return expr.func(*(_reordered(rng, q) for q in expr.args))


@pytest.mark.parametrize("depth, count", [(3, 150), (4, 25)])
def test_identical_affirms_renamed_reordered_and_expanded(depth, count):
    letters = {i: Symbol("p", integer=True), j: Symbol("q", integer=True)}
    affirmed = 0
    for rng, expr in expressions(40_000, count, depth, False):
        other = _reordered(rng, expand(_renamed(expr, letters)))
        assert not differs(expr, other, seeds=(0,)), (expr, other)
        affirmed += identical(expr, other)
    # every one of them when this was written; it is a search for a proof all the same
    assert affirmed >= 0.98 * count


def test_substitution_captures_nothing():
    """Put a formula with the sums' own letters in it for w[.] and for c."""
    for _, expr in expressions(50_000, 150, 3, False):
        entry = w[m] + y[i] * a[j]  # i and j are free here and bound in expr
        wrapped = expr.subs(w[2], w[m]) if expr.has(w[2]) else expr
        new = replace_indexed(wrapped, w[l], entry.xreplace({m: l}))
        new = replace_indexed(new, c, x[i, j])
        fixed = {i: Integer(3), j: Integer(1), m: Integer(2)}
        # the oracle: first write all sums out, then there is nothing to capture
        sizes = {n: 3, d: 2}
        explicit = wrapped.subs(sizes).doit().xreplace({m: Integer(2)})
        explicit = explicit.xreplace(
            {q: q + y[3] * a[1] for q in explicit.atoms(type(w[1])) if q.base == w})
        explicit = explicit.xreplace({c: x[3, 1]})
        free = {q: k for q, k in fixed.items() if q in new.free_symbols}
        assert not differs(_fix_free(new, free), explicit, [sizes], (0,)), expr


def _fix_free(expr: Expr, values: dict) -> Expr:
    """Numbers for free indices only; SymPy's own subs would do bound ones as well."""
    if isinstance(expr, Sum):
        values = {k: v for k, v in values.items() if k not in expr.variables}
        return Sum(_fix_free(expr.function, values), *expr.limits)
    if not expr.args or expr.is_Indexed or expr.is_Symbol:
        return expr.xreplace(values)
    return expr.func(*(_fix_free(q, values) for q in expr.args))
