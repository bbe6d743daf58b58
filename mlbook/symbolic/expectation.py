"""Expectation as a linear operator.

``sympy.stats`` computes with named distributions; a derivation wants the opposite: to
name only what it assumes. Here E is an operator of which nothing is known but that it
is linear and leaves constants alone. Moments and independence are given as rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from sympy import (
    Add,
    Dummy,
    Expr,
    Function,
    Indexed,
    IndexedBase,
    Integer,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    sympify,
)

from mlbook.symbolic.algebra import bound_symbols, normal_form_under, rename_bound


class RandomVariable(Symbol):
    """A symbol that an expectation averages over."""


class Expect(Function):
    """E[...]; what holds no random variable is a constant of it."""

    nargs = 1

    @classmethod
    def eval(cls, inner: Expr) -> Expr | None:
        return None if is_random(inner) else inner

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_real

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0].is_nonnegative else None

    def _eval_derivative(self, variable: Symbol) -> Expr:
        if is_random(variable):  # it is averaged over: nothing of it is left
            return S.Zero
        return Expect(self.args[0].diff(variable))

    def _latex(self, printer, exp=None) -> str:
        shown = rf"\operatorname{{E}}\left[{printer.doprint(self.args[0])}\right]"
        return shown if exp is None else rf"{shown}^{{{exp}}}"

    def _sympystr(self, printer) -> str:
        return f"E[{printer.doprint(self.args[0])}]"


def random_symbol(name: str, **assumptions: bool) -> RandomVariable:
    """A random scalar."""
    return RandomVariable(name, **{"real": True, **assumptions})


def random_array(name: str, **assumptions: bool) -> IndexedBase:
    """An indexed family of random scalars."""
    return IndexedBase(RandomVariable(name, **{"real": True, **assumptions}))


def is_random(expr: Expr) -> bool:
    """Does the value of ``expr`` depend on a random variable?"""
    if isinstance(expr, Expect):
        return False
    if isinstance(expr, RandomVariable):
        return True
    if isinstance(expr, IndexedBase):
        return is_random(expr.label)
    if isinstance(expr, Indexed):
        return is_random(expr.base.label) or any(map(is_random, expr.indices))
    return any(map(is_random, expr.args))


def _family(factor: Expr) -> set[str]:
    """Names of the random variables that a factor holds."""
    symbols = {q for q in factor.free_symbols if isinstance(q, RandomVariable)}
    symbols |= {q.base.label for q in factor.atoms(Indexed)
                if isinstance(q.base.label, RandomVariable)}
    return {q.name for q in symbols}


def linear(expr: Expr, moments: Iterable[tuple[Expr, Expr]] = (),
           independent: Sequence[Iterable[Expr]] = ()) -> Expr:
    """Expand every expectation in ``expr`` by linearity.

    Parameters
    ----------
    expr : Expr
    moments : pairs (product, value)
        ``(eps[j]*eps[k], s**2*KroneckerDelta(j, k))`` says E[eps_j eps_k] for every j
        and k; a square is the case j = k. ``(eps, 0)`` gives a mean.
    independent : sequence of families
        Each family is an iterable of random variables; the expectation of a product
        of members of different families is the product of their expectations.
    """
    families = [set().union(*(_family(sympify(q)) for q in family))
                for family in independent]
    for one, other in combinations(families, 2):
        if one & other:
            shared = ", ".join(sorted(one & other))
            raise ValueError(f"{shared} is in two families that are said to be "
                             "independent of each other")
    rules = [(sympify(pattern), sympify(value)) for pattern, value in moments]
    expr = sympify(expr)
    for _ in range(20):
        bound = bound_symbols(expr)
        new = expr.replace(
            lambda q: isinstance(q, Expect),
            lambda q: _expand_one(q.args[0], rules, families, bound))
        if new == expr:
            return new
        expr = new
    raise ValueError("the moments given refer to each other in a circle")


def _expand_one(inner: Expr, rules: list, families: list, bound: set) -> Expr:
    """E of an expression that may stand under sums over the indices ``bound``."""
    result = S.Zero
    for term in Add.make_args(normal_form_under(inner, bound)):
        factors = Mul.make_args(term)
        constant = Mul(*[q for q in factors if not is_random(q)])
        varying = [q for q in factors if is_random(q)]
        sums = [q for q in varying if isinstance(q, Sum)]
        if len(sums) == 1:
            # what stands beside the sum goes under it: E is taken term by term
            others = Mul(*[q for q in varying if q is not sums[0]])
            moved = rename_bound(sums[0], others.free_symbols)
            inside = bound | set(moved.variables)
            body = _expand_one(others * moved.function, rules, families, inside)
            result += constant * Sum(body, *moved.limits)
        else:
            result += constant * _expect_product(varying, rules, families)
    return result


def _expect_product(factors: list, rules: list, families: list) -> Expr:
    """E of a product: split over independent families, then the given moments."""
    groups: list[list[Expr]] = []
    rest = list(factors)
    for family in families:
        mine = [q for q in rest if _family(q) <= family]
        rest = [q for q in rest if q not in mine]
        groups.append(mine)
    shared = set().union(*(_family(q) for q in rest), set())
    if any(shared & family for family in families):
        groups, rest = [], list(factors)  # a factor mixes two families
    elif rest and any(groups):
        # nothing was said of how these depend on the families
        groups, rest = [], list(factors)
    value = S.One
    for group in [*groups, rest]:
        if group:
            value *= _moment(group, rules)
    return value


def _unit_factors(factors: Iterable[Expr]) -> list[Expr]:
    """x^2 y as [x, x, y]."""
    units: list[Expr] = []
    for factor in factors:
        base, power = factor.as_base_exp()
        if isinstance(factor, Pow) and isinstance(power, Integer) and power > 0:
            units += [base] * int(power)
        else:
            units.append(factor)
    return sorted(units, key=str)


def _moment(factors: list[Expr], rules: list) -> Expr:
    units = _unit_factors(factors)
    for pattern, value in rules:
        found = _bind(_unit_factors(Mul.make_args(pattern)), units)
        if found is not None:
            names = set().union(*(q.free_symbols for q in found.values()), set())
            # a fresh name first: the exchange of indices is simultaneous
            fresh = {p: Dummy(integer=True) for p in found}
            value = rename_bound(value, names | set(found)).xreplace(fresh)
            return value.xreplace({fresh[p]: q for p, q in found.items()})
    return Expect(Mul(*factors))


def _bind(pattern: list[Expr], units: list[Expr]) -> dict | None:
    """Indices that turn the pattern's factors into ``units``, or None."""
    if len(pattern) != len(units):
        return None
    found: dict = {}
    for p, u in zip(pattern, units):
        if not isinstance(p, Indexed):
            if p != u:
                return None
            continue
        if not isinstance(u, Indexed) or p.base != u.base:
            return None
        for generic, index in zip(p.indices, u.indices):
            if isinstance(generic, Symbol):
                if found.setdefault(generic, index) != index:
                    return None
            elif generic != index:
                return None
    return found
