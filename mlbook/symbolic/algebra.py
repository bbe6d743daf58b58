"""Algebra of indexed sums: what a derivation for symbolic sizes needs.

SymPy knows ``Sum`` and ``Indexed`` but captures bound indices in ``subs``, leaves
``Piecewise`` behind in derivatives and cannot see that two sums are equal. The
functions here close those gaps for expressions built from sums, products, integer
powers and functions of them.

Two conventions hold throughout:

- A *free* index lies inside every range it meets, and sizes are large enough to hold
  every entry that is named: d/dw[l] of sum_i w[i]^2 is 2 w[l]. An index that would
  have to lie in two different ranges is refused.
- Equality means equality for every size. ``identical`` answers True only with a proof;
  False means "no proof", not "different".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count, permutations, product

from sympy import (
    Add,
    Basic,
    Dummy,
    Expr,
    Indexed,
    Integer,
    KroneckerDelta,
    MatrixSymbol,
    Mul,
    Poly,
    PolynomialError,
    Pow,
    Product,
    S,
    Sum,
    Symbol,
    Tuple,
    Wild,
    cancel,
    denom,
    exp,
    expand,
    factorial,
    fraction,
    log,
    numer,
    powsimp,
    solve,
    srepr,
    sympify,
    together,
)

from mlbook.symbolic.functions import fold_reflections

BINDERS = (Sum, Product)


def _is_leaf(expr: Expr) -> bool:
    return not expr.args or isinstance(expr, (Indexed, Symbol, MatrixSymbol))


def _rebuild(expr: Expr, args: Iterable[Expr]) -> Expr:
    args = tuple(args)
    return expr if args == expr.args else expr.func(*args)


def bound_symbols(expr: Expr) -> set[Symbol]:
    """Return every index that some sum or product inside ``expr`` binds."""
    return {v for node in expr.atoms(*BINDERS) for v in node.variables}


# ---------------------------------------------------------------- substitution


def rename_bound(expr: Expr, names: set[Symbol]) -> Expr:
    """Rename the bound indices of ``expr`` that clash with ``names``.

    SymPy's own ``subs`` lets a free index fall under a sum that binds the same name;
    every substitution in this module calls this function first.
    """
    if isinstance(expr, BINDERS):
        body = rename_bound(expr.function, names)
        limits = list(expr.limits)
        for position, (old, low, high) in enumerate(limits):
            if old not in names:
                continue
            taken = names | expr.free_symbols | body.free_symbols | bound_symbols(body)
            taken |= set(expr.variables)
            new = old
            while new in taken:
                new = Symbol(new.name + "'", integer=True)
            body = body.xreplace({old: new})
            # bounds to the left belong to inner sums and may mention the old name
            inner = [Tuple(v, *(q.xreplace({old: new}) for q in pair))
                     for v, *pair in limits[:position]]
            limits = [*inner, Tuple(new, low, high), *limits[position + 1:]]
        return expr.func(body, *limits)
    if _is_leaf(expr):
        return expr
    return _rebuild(expr, (rename_bound(a, names) for a in expr.args))


def replace_indexed(expr: Expr, pattern: Expr, value: Expr) -> Expr:
    """Put ``value`` for every entry that matches ``pattern``, capturing nothing.

    Parameters
    ----------
    expr : Expr
    pattern : Indexed or Symbol
        ``w[l]`` stands for every entry of w and ``value`` is read with l set to that
        entry's index; ``m[0]`` stands for that entry alone; a symbol for itself.
    value : Expr
    """
    expr, value = sympify(expr), sympify(value)
    if not isinstance(pattern, Indexed):
        expr = rename_bound(expr, value.free_symbols | pattern.free_symbols)
        return expr.xreplace({pattern: value})
    generic = [q for q in pattern.indices if isinstance(q, Symbol)]
    expr = rename_bound(expr, value.free_symbols - set(generic))

    def matches(node: Expr) -> bool:
        return (
            isinstance(node, Indexed)
            and node.base == pattern.base
            and len(node.indices) == len(pattern.indices)
            and all(p in generic or p == q
                    for p, q in zip(pattern.indices, node.indices))
            # K[i, i] stands for the diagonal only
            and len(set(pattern.indices))
            == len(set(zip(pattern.indices, node.indices)))
        )

    def put(node: Expr) -> Expr:
        indices = {p: q for p, q in zip(pattern.indices, node.indices) if p in generic}
        names = set().union(*(q.free_symbols for q in indices.values()), set())
        # a fresh name first, so that exchanging two indices is simultaneous
        fresh = {p: Dummy(p.name, integer=True) for p in indices}
        body = rename_bound(value, names | set(indices)).xreplace(fresh)
        return body.xreplace({fresh[p]: q for p, q in indices.items()})

    return expr.replace(matches, put)


def peel_last(expr: Expr, upper: Expr | None = None) -> Expr:
    """Split the last term off every sum, or off those that end at ``upper``."""

    def wanted(node: Expr) -> bool:
        return (isinstance(node, Sum) and len(node.limits) == 1
                and (upper is None or node.limits[0][2] == upper))

    def split(node: Sum) -> Expr:
        ((v, low, high),) = node.limits
        last = rename_bound(node.function, high.free_symbols).xreplace({v: high})
        return Sum(node.function, (v, low, high - 1)) + last

    return sympify(expr).replace(wanted, split)


# ----------------------------------------------------------- Kronecker's delta


class _Ranges:
    """Where indices lie: those summed over around the place, and the free ones.

    A free index is assumed to lie in every range it meets; two are one too many. An
    index that a sum further out binds lies in that sum's range and nowhere else.
    """

    def __init__(self, assumed: dict | None = None, scope: dict | None = None) -> None:
        self.assumed = {} if assumed is None else assumed
        self.scope = scope or {}

    def within(self, limits: Iterable[Tuple]) -> _Ranges:
        """The same under a sum with these limits (innermost first, as SymPy has it)."""
        inner = {v: (low, high) for v, low, high in reversed(tuple(limits))}
        return _Ranges(self.assumed, {**self.scope, **inner})

    def _assume(self, index: Expr, low: Expr, high: Expr) -> None:
        if self.assumed.setdefault(index, (low, high)) != (low, high):
            first = self.assumed[index]
            raise ValueError(
                f"index {index} would have to lie in {first[0]}..{first[1]} and in "
                f"{low}..{high}: give the two ranges different indices"
            )

    def is_nonnegative(self, expr: Expr) -> bool:
        """Proved for every value of the summation indices, each in its range."""
        for v, pair in reversed(self.scope.items()):
            slope = expr.diff(v)
            if slope == 0:
                continue
            if pair is None or not (slope.is_positive or slope.is_negative):
                return False
            expr = expr.xreplace({v: pair[0] if slope.is_positive else pair[1]})
        return expr.is_nonnegative is True

    def counts(self, low: Expr, high: Expr) -> bool:
        """Are there high - low + 1 terms, and not fewer than none?"""
        if not self._is_bound(low, high):
            return True  # sizes are large enough
        return self.is_nonnegative(high - low + 1)

    def inside(self, index: Expr, low: Expr, high: Expr) -> bool | None:
        """Is ``index`` in low..high? None: cannot be told."""
        if (index - high).is_positive or (low - index).is_positive:
            return False
        if self.is_nonnegative(high - index) and self.is_nonnegative(index - low):
            return True
        if self._is_bound(index, low, high):
            return None
        if _for_large_sizes(high - index) and _for_large_sizes(index - low):
            return True
        if isinstance(index, Symbol) and not (low.has(index) or high.has(index)):
            self._assume(index, low, high)
            return True
        return None

    def _is_bound(self, *exprs: Expr) -> bool:
        return any(q in self.scope for expr in exprs for q in expr.free_symbols)


def _for_large_sizes(expr: Expr) -> bool:
    """Is ``expr`` nonnegative once all that it mentions is large?"""
    grows = [expr.diff(q).is_positive for q in expr.free_symbols]
    return all(grows) if grows else expr.is_nonnegative is True


def _absorb_delta(body: Expr, limits: list,
                  ranges: _Ranges) -> tuple[Expr, list] | None:
    """Carry out one sum over an index that a Kronecker delta fixes; None: no such."""
    factors = Mul.make_args(body)
    around = ranges.within(limits)
    for delta in factors:
        if not isinstance(delta, KroneckerDelta):
            continue
        for v, low, high in limits:
            others = [q for q in delta.args if q != v]
            if v not in delta.args or len(others) != 1 or others[0].has(v):
                continue
            (other,) = others
            if any(v in q.free_symbols for limit in limits for q in limit[1:]):
                continue
            inside = around.inside(other, low, high)
            if inside is None:
                continue
            if not inside:
                return S.Zero, []
            rest = Mul(*[q for q in factors if q is not delta])
            rest = rename_bound(rest, other.free_symbols).xreplace({v: other})
            return rest, [limit for limit in limits if limit[0] != v]
    return None


def collapse(expr: Expr, _ranges: _Ranges | None = None) -> Expr:
    """Draw constants out of sums and carry out the sums that a delta fixes.

    Unlike ``normal_form`` it keeps the shape of the expression otherwise.
    """
    if _ranges is None:
        expr = _unshadow(expr)
    ranges = _Ranges() if _ranges is None else _ranges
    if isinstance(expr, Sum):
        body = collapse(expr.function, ranges.within(expr.limits))
        for position, limit in enumerate(expr.limits):
            around = ranges.within(expr.limits[position + 1:])
            terms = Add.make_args(expand(body, deep=False) if body.has(KroneckerDelta)
                                  else body)
            body = Add(*[_sum_over(term, limit, around) for term in terms])
        return body
    if isinstance(expr, Product):
        body = collapse(expr.function, ranges.within(expr.limits))
        return Product(body, *expr.limits)
    if _is_leaf(expr):
        return expr
    return _rebuild(expr, (collapse(a, ranges) for a in expr.args))


def _sum_over(term: Expr, limit: Tuple, ranges: _Ranges) -> Expr:
    v, low, high = limit
    constant, rest = term.as_independent(v, as_Add=False)
    if rest == 1 and ranges.counts(low, high):
        return constant * (high - low + 1)
    done = _absorb_delta(rest, [limit], ranges)
    if done is not None:
        return constant * done[0]
    return constant * Sum(rest, limit)


def partial(expr: Expr, variable: Expr) -> Expr:
    """Derivative of ``expr`` by a symbol or by one entry w[l], for every size.

    Raises
    ------
    ValueError
        If the entry's index would have to lie in two different ranges, or if
        ``variable`` is an index or a bound.
    """
    expr = sympify(expr)
    if not isinstance(variable, (Symbol, Indexed)):
        raise TypeError(f"cannot differentiate by {variable}: take a symbol or an "
                        "entry")
    names = variable.free_symbols if isinstance(variable, Indexed) else {variable}
    expr = rename_bound(expr, names)
    bounds = {q for node in expr.atoms(*BINDERS) for limit in node.limits
              for bound in limit[1:] for q in bound.free_symbols}
    indices = {q for node in expr.atoms(Indexed) for place in node.indices
               for q in place.free_symbols}
    if variable in bounds | indices:
        raise ValueError(f"cannot differentiate by {variable}: it is an index or the "
                         "bound of a sum")
    return collapse(expr.diff(variable))


def _unshadow(expr: Expr, around: frozenset = frozenset()) -> Expr:
    """Rename an index that a sum further out binds as well."""
    if isinstance(expr, BINDERS):
        if around & set(expr.variables):
            expr = rename_bound(expr, set(around))
        inner = _unshadow(expr.function, around | set(expr.variables))
        return expr.func(inner, *expr.limits)
    if _is_leaf(expr):
        return expr
    return _rebuild(expr, (_unshadow(a, around) for a in expr.args))


# ------------------------------------------------------------------ normal form


def normal_form(expr: Expr) -> Expr:
    """Write ``expr`` as a sum of terms, each one number times one (multiple) sum.

    Products of sums become multiple sums, summation indices get canonical names,
    constants go outside, Kronecker deltas are carried out. Equal expressions often
    (not always) get the same normal form, and the value never changes.
    """
    return normal_form_under(expr, ())


def normal_form_under(expr: Expr, bound: Iterable[Symbol]) -> Expr:
    """The same for a part of an expression whose sums bind the indices ``bound``.

    These are not free: nothing is assumed of where they lie.
    """
    scope: dict = dict.fromkeys(bound)
    # log sigmoid(-z) is folded as a whole, before its argument could be
    expr = fold_reflections(sympify(expr))
    return _normalise(_with_dummies(expr), _Ranges(scope=scope))


def _with_dummies(expr: Expr) -> Expr:
    """Every bound index by a name that occurs nowhere else."""
    if _is_leaf(expr):
        return expr
    if not isinstance(expr, BINDERS):
        return _rebuild(expr, map(_with_dummies, expr.args))
    limits, fresh = _fresh_limits(expr)
    return expr.func(_with_dummies(expr.function).xreplace(fresh), *limits)


def _fresh_limits(expr: Expr) -> tuple[list, dict]:
    """The limits of a sum or product under new names, and the new name of each index."""
    fresh: dict = {}
    limits: list = []
    # from the outermost in: a bound may mention only what stands outside it
    for v, low, high in reversed(expr.limits):
        low, high = low.xreplace(fresh), high.xreplace(fresh)
        fresh[v] = Dummy(integer=True)
        limits.insert(0, Tuple(fresh[v], low, high))
    return limits, fresh


def _normalise(expr: Expr, ranges: _Ranges) -> Expr:
    collected: dict = {}
    terms = list(Add.make_args(_expand(_distribute(expr, ranges))))
    while terms:
        result = _canonical_term(terms.pop(), ranges)
        if isinstance(result, Expr):  # a count or a delta has made new terms
            terms.extend(Add.make_args(_expand(result)))
            continue
        coefficient, key = result
        collected[key] = collected.get(key, S.Zero) + coefficient
    return Add(*[c * (Sum(body, *limits) if limits else body)
                 for (body, limits), c in collected.items() if c != 0])


def _expand(expr: Expr) -> Expr:
    # passes over the whole tree that would find nothing are left out
    expr = expand(fold_reflections(expr), basic=False, log=expr.has(log))
    return expr.replace(_is_power_in_factors, _power_of_sum)


def _is_power_in_factors(expr: Expr) -> bool:
    """A product of b^f[i], which SymPy's expand makes of b^(sum of f[i])."""
    if not isinstance(expr, Product) or not isinstance(expr.function, (Pow, exp)):
        return False
    return not expr.function.as_base_exp()[0].has(*expr.variables)


def _power_of_sum(expr: Product) -> Expr:
    base, exponent = expr.function.as_base_exp()
    return Pow(base, Sum(exponent, *expr.limits))


def _distribute(expr: Expr, ranges: _Ranges) -> Expr:
    """Sums over every summand; arguments of functions in their own normal form."""
    if _is_leaf(expr):
        return expr
    if isinstance(expr, Sum):
        around = ranges.within(expr.limits)
        terms = Add.make_args(_expand(_distribute(expr.function, around)))
        return Add(*[Sum(term, *expr.limits) for term in terms])
    if isinstance(expr, Product):
        return _normal_product(expr, ranges)
    polynomial = isinstance(expr, (Add, Mul)) or (
        isinstance(expr, Pow) and expr.exp.is_Integer and expr.exp > 0)
    inner = _distribute if polynomial else _normal_argument
    return _rebuild(expr, (inner(a, ranges) for a in expr.args))


def _normal_argument(arg: Basic, ranges: _Ranges) -> Basic:
    if isinstance(arg, Expr):
        return _normalise(arg, ranges)
    # the pairs and conditions of a Piecewise
    return _rebuild(arg, (_normal_argument(a, ranges) for a in arg.args))


def _normal_product(expr: Product, ranges: _Ranges) -> Expr:
    """A product over an index is left whole; only its index gets a canonical name."""
    around = ranges.within(expr.limits)
    body = _normalise(expr.function, around)
    level, limits = _level(body), []
    for position, (v, low, high) in enumerate(expr.limits):
        new = Symbol(f"_s{level}_{position}", integer=True)
        body = body.xreplace({v: new})
        limits = [Tuple(q, *(r.xreplace({v: new}) for r in pair))
                  for q, *pair in limits]
        limits.append(Tuple(new, low, high))
    if body.has(Sum):  # once more, now that the order cannot depend on old names
        body = _normalise(body, ranges.within(limits))
    return Product(body, *limits)


def _level(body: Expr) -> int:
    """The first level of canonical names above those bound in ``body``, and unused."""
    bound = bound_symbols(body)
    level = max(map(_level_of, bound), default=-1) + 1
    free = {_level_of(q) for q in body.free_symbols - bound}
    return next(k for k in count(level) if k not in free)


def _level_of(symbol: Symbol) -> int:
    name = symbol.name
    return int(name[2:].split("_")[0]) if name.startswith("_s") else -1


def _canonical_term(term: Expr, ranges: _Ranges):
    """(coefficient, (body, limits)) of one product, or an Expr to be taken up anew."""
    body, limits = _merge_sums(term)
    body = _merge_deltas(body, {limit[0] for limit in limits})
    absorbed = _absorb_delta(body, limits, ranges)
    if absorbed is not None:
        return Sum(absorbed[0], *absorbed[1]) if absorbed[1] else absorbed[0]
    for limit in limits:
        v, low, high = limit
        others = [q for q in limits if q is not limit]
        if (not body.has(v) and not any(q.has(v) for o in others for q in o[1:])
                and ranges.within(others).counts(low, high)):
            counted = expand(body * (high - low + 1))
            return Add(*[Sum(q, *others) if others else q
                         for q in Add.make_args(counted)])
    if not limits:
        coefficient, rest = body.as_coeff_Mul()
        return coefficient, (rest, ())
    names = [limit[0] for limit in limits]
    coefficient, body = body.as_independent(*names, as_Add=False)
    return coefficient, _name_canonically(body, limits, ranges)


def _merge_sums(term: Expr) -> tuple[Expr, list]:
    """One product as a body and the list of all its limits, innermost first."""
    factors, limits, todo = [], [], list(Mul.make_args(term))
    while todo:
        factor = todo.pop()
        if isinstance(factor, Sum):
            inner, fresh = _fresh_limits(factor)
            limits = inner + limits
            todo += Mul.make_args(factor.function.xreplace(fresh))
        elif (isinstance(factor, Pow) and isinstance(factor.base, Sum)
              and factor.exp.is_Integer and factor.exp > 0):
            todo += [factor.base] * int(factor.exp)
        else:
            factors.append(factor)
    return Mul(*factors), limits


def _merge_deltas(body: Expr, summed: set) -> Expr:
    """delta^k = delta, and delta(a, b) f(b) = delta(a, b) f(a), a rather not summed."""
    body = body.replace(
        lambda q: isinstance(q, Pow) and isinstance(q.base, KroneckerDelta)
        and q.exp.is_positive, lambda q: q.base)
    for delta in [q for q in Mul.make_args(body) if isinstance(q, KroneckerDelta)]:
        first, second = delta.args
        if first in summed and second not in summed:
            first, second = second, first
        if isinstance(second, Symbol) and not first.has(second):
            rest = Mul(*[q for q in Mul.make_args(body) if q != delta])
            rest = rename_bound(rest, first.free_symbols)
            body = delta * rest.xreplace({second: first})
    return body


def _name_canonically(body: Expr, limits: list, ranges: _Ranges):
    """The smallest of the ways to name and order the summation indices."""
    mark, other = Symbol("_mark"), Symbol("_other")

    def signature(limit: Tuple) -> str:
        # what an index looks like when all the others look alike
        alike = {q[0]: other for q in limits} | {limit[0]: mark}
        return srepr(Tuple(limit[1].xreplace(alike), limit[2].xreplace(alike),
                           body.xreplace(alike)))

    groups: dict = {}
    for limit in limits:
        groups.setdefault(signature(limit), []).append(limit)
    # only indices that look alike need to be tried in every order
    seen = Tuple(body, *(Tuple(*limit[1:]) for limit in limits))
    orders = product(*(_orders(groups[key], seen) for key in sorted(groups)))
    best, level = None, _level(body)
    for order in orders:
        chosen = _outer_last([limit for group in order for limit in group])
        names = {limit[0]: Symbol(f"_s{level}_{k}", integer=True)
                 for k, limit in enumerate(chosen)}
        named = tuple(Tuple(*(q.xreplace(names) for q in limit)) for limit in chosen)
        candidate = _renormalise_arguments(body.xreplace(names), ranges.within(named))
        key = (srepr(candidate), srepr(Tuple(*named)))
        if best is None or key < best[0]:
            best = (key, (candidate, named))
    return best[1]


def _orders(group: list, seen: Tuple) -> Iterable:
    """All orders of these limits; a single one if exchanging them changes nothing."""
    names = [limit[0] for limit in group]
    symmetric = all(seen.xreplace({p: q, q: p}) == seen
                    for p, q in zip(names, names[1:]))
    return [group] if symmetric else permutations(group)


def _outer_last(limits: list) -> list:
    """Order limits so that a bound mentions only indices that stand further right."""
    ordered: list = []
    waiting = list(limits)
    while waiting:
        for limit in waiting:
            others = (o for o in waiting if o is not limit)
            if not any(q.has(limit[0]) for o in others for q in o[1:]):
                break
        waiting.remove(limit)
        ordered.append(limit)
    return ordered


def _renormalise_arguments(body: Expr, ranges: _Ranges) -> Expr:
    """Sums inside functions are named anew once the outer indices have their names."""
    def has_inner_sum(factor: Expr) -> bool:
        return not _is_leaf(factor) and bool(factor.atoms(Sum))

    return Mul(*[_distribute(q, ranges) if has_inner_sum(q) else q
                 for q in Mul.make_args(body)])


def identical(left: Expr, right: Expr) -> bool:
    """True only if ``left`` equals ``right`` for every size, by proof."""
    return is_zero(sympify(left) - sympify(right))


def is_zero(expr: Expr) -> bool:
    """True only if ``expr`` is zero for every size, by proof."""
    expr = _name_bases(sympify(expr))
    form = normal_form(expr)
    if form == 0:
        return True
    if _merged_summands(form) == 0:
        return True
    above, below = fraction(together(form))
    return not below.is_number and normal_form(above) == 0


def _name_bases(expr: Expr) -> Expr:
    """Let one letter stand for a base such as 1 - eta*lam of a symbolic power.

    Written out, (1 - a)^(t - 1) (1 - a) and (1 - a)^t have no common form. With b for
    1 - a, hence a = 1 - b everywhere, they have. What is proved for every b other than
    0 holds at 0 too, where both sides are defined, because they are continuous there.
    """
    for number, power in enumerate(sorted(expr.atoms(Pow), key=str)):
        base = power.base
        if not (isinstance(base, Add) and power.exp.free_symbols and expr.has(base)):
            continue
        bound = bound_symbols(expr)
        symbols = [q for q in base.free_symbols - bound if not q.is_integer
                   and not any(q in a.free_symbols for a in base.atoms(Indexed))]
        for symbol in sorted(symbols, key=str):
            slope = base.diff(symbol)
            if slope != 0 and not slope.has(symbol) and not bound & base.free_symbols:
                # of the same class: what is random must stay so
                name = type(symbol)(f"_base{number}", real=True, nonzero=True)
                value = symbol + (name - base) / slope
                expr = expr.xreplace({symbol: expand(value)})
                break
    return expr


def _merged_summands(form: Expr) -> Expr:
    """Sums over the same range as one sum, its summand over a common denominator."""
    collected: dict = {}
    for term in Add.make_args(form):
        constant, sums = S.One, []
        for factor in Mul.make_args(term):
            if isinstance(factor, Sum):
                sums.append(factor)
            else:
                constant *= factor
        if len(sums) == 1:
            limits, inner = sums[0].limits, constant * sums[0].function
        else:
            limits, inner = (), term
        collected[limits] = collected.get(limits, S.Zero) + inner
    rows = []
    for limits, inner in collected.items():
        if expand(numer(together(inner))) != 0:
            rows.append(Sum(inner, *limits) if limits else inner)
    return Add(*rows)


# ------------------------------------------------------------------ constraints


def impose(expr: Expr, constraint: Expr, value: Expr) -> Expr:
    """Use a known sum, such as sum_i alpha[i] y[i] = 0, wherever it occurs.

    Free indices of the constraint stand for any index: sum_j z[i, j] = 1 for every i.
    Returns the normal form of the result.

    Raises
    ------
    ValueError
        If the constraint is not a multiple of one simple sum, plus constants, or
        if the multiplier may be 0 and cancels: c S = 0 does not make S vanish.
    """
    known, value = _solve_for_sum(constraint, sympify(value))
    ((v, low, high),) = known.limits
    indices = {q for a in known.function.atoms(Indexed) for q in a.indices}
    indices -= bound_symbols(known.function)
    generic = sorted((q for q in indices if isinstance(q, Symbol) and q != v), key=str)
    wild = {q: Wild(q.name + "_w") for q in generic}
    pattern = known.function.xreplace(wild)

    def use(term: Sum) -> Expr:
        for limit in term.limits:
            if tuple(limit[1:]) != (low, high):
                continue
            if any(q.has(limit[0]) for other in term.limits for q in other[1:]):
                continue  # a triangle is not the whole sum
            constant, rest = term.function.as_independent(limit[0], as_Add=False)
            found = _match(rest, pattern.xreplace({v: limit[0]}), wild.values(),
                           limit[0])
            if found is None:
                continue
            names = set().union(*(q.free_symbols for q in found.values()), set())
            result = rename_bound(value, names | set(term.variables)).xreplace(
                {q: found[w] for q, w in wild.items()})
            limits = [q for q in term.limits if q != limit]
            return Sum(constant * result, *limits) if limits else constant * result
        return term

    form, before = normal_form(expr), None
    while form != before:  # a term may hold the known sum more than once
        before = form
        form = normal_form(form.replace(lambda q: isinstance(q, Sum), use))
    return form


def _solve_for_sum(constraint: Expr, value: Expr) -> tuple[Sum, Expr]:
    """c * sum + rest = value as sum = (value - rest) / c."""
    found: dict = {}
    rest = S.Zero
    for term in Add.make_args(normal_form(constraint)):
        sums = [q for q in Mul.make_args(term) if isinstance(q, Sum)]
        if len(sums) == 1 and len(sums[0].limits) == 1:
            found[sums[0]] = found.get(sums[0], S.Zero) + term / sums[0]
        else:
            rest += term
    if len(found) != 1 or rest.has(Sum):
        raise ValueError(f"{constraint} is not a multiple of one simple sum")
    ((known, coefficient),) = found.items()
    result = (value - rest) / coefficient
    kept = denom(together(cancel(result))).free_symbols
    if not (coefficient.is_nonzero or coefficient.free_symbols <= kept):
        raise ValueError(f"{constraint} = {value} says nothing of {known} where "
                         f"{coefficient} is 0")
    return known, result


def _match(expr: Expr, pattern: Expr, wilds: Iterable[Wild], index: Symbol):
    if not wilds:
        return {} if expr == pattern else None
    found = expr.match(pattern)
    if found is None or any(q.has(index) for q in found.values()):
        return None
    return found if pattern.xreplace(found) == expr else None


# -------------------------------------------------------------- solving, shaping


def stationary_point(expr: Expr, variable: Expr) -> Expr:
    """The one root of d expr / d variable = 0, put back and proved for every size.

    Raises
    ------
    ValueError
        If there is no root or more than one, if the root still holds the unknown, or
        if the equation cannot be proved at the root.
    """
    slope = partial(expr, variable)
    # the unknown must come out of the sums before SymPy can solve for it
    equation = numer(together(collapse(expand(slope))))
    unknown = Dummy("unknown")
    try:
        roots = solve(equation.xreplace({variable: unknown}), unknown)
    except NotImplementedError as error:
        raise ValueError(f"cannot solve {equation} = 0 for {variable}") from error
    if len(roots) != 1:
        raise ValueError(
            f"the derivative by {variable} has {len(roots)} roots, expected one")
    root = roots[0]
    left = [q for q in root.atoms(Indexed) if isinstance(variable, Indexed)
            and q.base == variable.base]
    if left or root.has(variable, unknown):
        raise ValueError(f"the root still contains {left[0] if left else variable}")
    if not is_zero(replace_indexed(slope, variable, root)):
        raise ValueError(f"the derivative is not proved to vanish at {root}")
    return root


def complete_square(expr: Expr, variable: Symbol) -> Expr:
    """Write a quadratic a x^2 + b x + c as a (x + b/2a)^2 + c - b^2/4a."""
    try:
        form = Poly(collapse(expand(expr)), variable)
    except PolynomialError as error:
        raise ValueError(f"{expr} is not a polynomial in {variable}") from error
    if form.degree() != 2:
        raise ValueError(f"degree {form.degree()} in {variable}, expected 2")
    a, b, c = form.all_coeffs()
    return a * (variable + b / (2 * a)) ** 2 + (c - b**2 / (4 * a))


def taylor(expr: Expr, variable: Symbol, point: Expr, step: Expr, order: int) -> Expr:
    """Taylor polynomial of ``expr`` at ``point`` in powers of ``step``."""
    if order < 0:
        raise ValueError(f"order must not be negative, got {order}")
    if not isinstance(variable, Symbol):
        raise TypeError(f"expected a symbol to expand in, got {variable}")
    expr, terms = sympify(expr), []
    for k in range(order + 1):
        terms.append(replace_indexed(expr, variable, point) * step**k / factorial(k))
        expr = partial(expr, variable)
    return Add(*terms)


def solves_recursion(claim: Expr, step: Callable[[Expr], Expr], index: Symbol,
                     start: Expr, first: int = 0) -> bool:
    """True only if ``claim`` is proved to solve a recursion, by induction on ``index``.

    Base: the claim at ``first`` equals ``start``. Step: the claim at t equals ``step``
    of the claim at t - 1, where sums up to t give up their last term.
    """
    now, before, base = _three_moments(claim, index, first)
    return is_zero(base - start) and is_zero(now - step(before))


def equal_by_induction(left: Expr, right: Expr, index: Symbol, first: int = 0) -> bool:
    """True only if left = right is proved for index >= first, by induction.

    Base: equal at ``first``. Step: with D = left - right, D(t) = r D(t - 1), where r is
    1 or the ratio by which the summands grow from t - 1 to t.
    """
    left, right = sympify(left), sympify(right)
    now, before, base = _three_moments(left - right, index, first)
    if not is_zero(base):
        return False
    ratios = [S.One]
    for node in (left - right).atoms(Sum):
        if len(node.limits) == 1 and node.limits[0][2] == index:
            body = node.function
            ratio = powsimp(expand(body / body.subs(index, index - 1)))
            # D(t - 1) = 0 says something of r D(t - 1) only where r is finite
            below = denom(together(ratio)).xreplace({index: _from(first + 1)})
            finite = not below.has(_LATER) or below.is_nonzero
            if finite and not ratio.has(node.limits[0][0]) and ratio not in ratios:
                ratios.append(ratio)
    return any(is_zero(now - ratio * before) for ratio in ratios)


def _three_moments(claim: Expr, index: Symbol, first: int) -> tuple[Expr, Expr, Expr]:
    """The claim at t with its last terms split off, at t - 1, and at ``first``."""
    claim = sympify(claim)
    if index in bound_symbols(claim):
        raise ValueError(f"{index} is a summation index of the claim")
    _refuse_short_sums(claim.xreplace({index: _from(first)}), _Ranges())
    base = claim.subs(index, Integer(first)).doit()
    return peel_last(claim, index), claim.subs(index, index - 1), base


_LATER = Symbol("_later", integer=True, nonnegative=True)


def _from(first: int) -> Expr:
    """Any whole number from ``first`` on."""
    return first + _LATER


def _refuse_short_sums(expr: Expr, ranges: _Ranges) -> None:
    """A sum over 3..t has fewer than none of t - 2 terms at t = 1: no induction."""
    if isinstance(expr, BINDERS):
        for position, (v, low, high) in enumerate(expr.limits):
            around = ranges.within(expr.limits[position + 1:])
            terms = high - low + 1
            if terms.has(_LATER) and not around.is_nonnegative(terms):
                low, high = (q.xreplace({_LATER: Integer(0)}) for q in (low, high))
                raise ValueError("no induction: the first case has a sum over "
                                 f"{v} = {low}..{high}")
        ranges = ranges.within(expr.limits)
    for arg in () if _is_leaf(expr) else expr.args:
        _refuse_short_sums(arg, ranges)


# ----------------------------------------------------------------- inequalities


def manifestly_nonnegative(expr: Expr, known: Iterable[Expr] = ()) -> bool:
    """True only if ``expr`` is built from squares and factors that are not negative.

    ``known`` lists expressions that are positive by assumption, such as 1 - beta.
    """
    known = list(known)
    expr = sympify(expr)
    if expr.is_nonnegative or any(expr == k for k in known):
        return True
    if any(is_zero(expr - k) for k in known):
        return True
    if isinstance(expr, BINDERS):
        # what is known of one i says nothing of all of them, unless it is of a[i]
        bare = [k.xreplace({a: Dummy() for a in k.atoms(Indexed)}) for k in known]
        known = [k for k, b in zip(known, bare) if not b.has(*expr.variables)]
        return manifestly_nonnegative(expr.function, known)
    if isinstance(expr, (Add, Mul)):
        return all(manifestly_nonnegative(q, known) for q in expr.args)
    if isinstance(expr, Pow) and expr.exp.is_real:
        if expr.exp.is_even and _is_real(expr.base):
            return True
        return manifestly_nonnegative(expr.base, known)
    return False


def _is_real(expr: Expr) -> bool:
    """Real for certain; SymPy itself does not look into sums."""
    if isinstance(expr, BINDERS):
        return _is_real(expr.function)
    if isinstance(expr, (Add, Mul)):
        return all(map(_is_real, expr.args))
    if isinstance(expr, Pow) and expr.exp.is_integer:
        return _is_real(expr.base)
    return expr.is_real is True
