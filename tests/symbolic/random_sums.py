"""Random nested sums, and near misses of them, for the property tests."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
from sympy import (
    Add,
    Expr,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Mul,
    Pow,
    Sum,
    Symbol,
    exp,
    symbols,
)

from mlbook.symbolic import evaluate

n, d = symbols("n d", integer=True, positive=True)
i, j = symbols("i j", integer=True)
c = Symbol("c", real=True)
a, y = IndexedBase("a", real=True), IndexedBase("y", real=True)
w, x = IndexedBase("w", real=True), IndexedBase("x", real=True)
SIZES = {n: 3, d: 2}


def random_expression(rng: random.Random, depth: int = 4,
                      scope: frozenset = frozenset(), deltas: bool = False) -> Expr:
    """An expression in which every index is bound by a sum around it."""
    if depth == 0:
        return _atom(rng, scope, deltas)
    kind = rng.random()

    def again(inner: frozenset = scope) -> Expr:
        return random_expression(rng, depth - 1, inner, deltas)

    if kind < 0.28:
        return again() + again()
    if kind < 0.54:
        return again() * again()
    if kind < 0.70:
        low, high = rng.choice([(1, n), (1, n), (2, n), (1, n - 1)])
        return Sum(again(scope | {i}), (i, low, high))
    if kind < 0.82:
        return Sum(again(scope | {j}), (j, 1, d))
    if kind < 0.86 and i in scope and j not in scope:
        return Sum(again(scope | {j}), (j, 1, i))  # a triangle
    if kind < 0.90:
        return exp(-again() / 10)
    if kind < 0.93:
        return c ** (n - 1) * again()
    return again() ** 2


def _atom(rng: random.Random, scope: frozenset, deltas: bool) -> Expr:
    choices = [c, Integer(2), y[1], w[2]]
    if i in scope:
        choices += [y[i], a[i], a[i], Integer(3)]
    if j in scope:
        choices += [w[j], w[j]]
    if {i, j} <= scope:
        choices += [x[i, j]] * 3
    if deltas:
        # meeting over equal, unequal and triangular ranges, and at the edges
        for index in sorted(scope, key=str):
            choices += [KroneckerDelta(index, 1), KroneckerDelta(index, 2)]
        if {i, j} <= scope:
            choices += [KroneckerDelta(i, j), KroneckerDelta(i, j + 1)]
        if i in scope:
            choices += [KroneckerDelta(i, n)]
    return rng.choice(choices)


def near_miss(rng: random.Random, expr: Expr) -> Expr:
    """The same expression with one index, sign, exponent, factor or bound changed."""
    places = list(_places(expr))
    rng.shuffle(places)
    for path in places:
        node = _at(expr, path)
        changed = _change(rng, node)
        if changed is not None and changed != node:
            return _put(expr, path, changed)
    return expr + 1


def _places(expr: Expr, path: tuple = ()):
    yield path
    if isinstance(expr, Sum):
        yield from _places(expr.function, (*path, 0))
    elif isinstance(expr, (Add, Mul, Pow, exp)):
        for k, arg in enumerate(expr.args):
            yield from _places(arg, (*path, k))


def _at(expr: Expr, path: tuple) -> Expr:
    for k in path:
        expr = expr.args[k]
    return expr


def _put(expr: Expr, path: tuple, new: Expr) -> Expr:
    if not path:
        return new
    args = list(expr.args)
    args[path[0]] = _put(args[path[0]], path[1:], new)
    return expr.func(*args)


def _change(rng: random.Random, node: Expr) -> Expr | None:
    if isinstance(node, Sum):
        (v, low, high), *outer = node.limits
        bounds = rng.choice([(low + 1, high), (low, high - 1)])
        return Sum(node.function, (v, *bounds), *outer)
    if node.is_Pow and node.exp.is_Integer:
        return node.base ** (node.exp + 1)
    if node.is_Indexed:
        base, indices = node.base, node.indices
        if base == x:
            return x[indices[0], 1] if indices[1] == j else x[1, indices[1]]
        return base[1] if indices[0] != 1 else base[2]
    if node.is_Add:
        first, *rest = node.args
        return Add(-first, *rest)
    if node.is_Integer and node > 1:
        return node + 1
    if node == c:
        return -c
    return None


def random_numbers(seed: int) -> dict:
    """Arrays for every letter above, large enough for every index met."""
    rng = np.random.default_rng(seed)
    shapes: Mapping = {a: 5, y: 5, w: 5, x: (5, 5)}
    values: dict = {k: rng.uniform(-1.8, 1.8, shape) for k, shape in shapes.items()}
    return {**values, c: rng.uniform(-1.8, 1.8)}


def value(expr: Expr, seed: int = 0, sizes: Mapping = SIZES) -> float:
    """The expression at small sizes and random numbers."""
    return float(evaluate(expr, {**random_numbers(seed), **sizes}))
