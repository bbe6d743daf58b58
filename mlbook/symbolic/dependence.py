"""Which name depends on which, by the definitions of a ledger.

A definition says nothing false, as long as it is not circular; but two definitions of
one name, or a derivative that overlooks that z stands for w'x, do. Names are compared
without their indices, and index shifts are followed: m[t] = b m[t-1] + g[t] is a sound
recursion, m[t] = m[t] + 1 is not, and c[t-1] does not depend on f[t] though c[t] does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from sympy import Dummy, Expr, Indexed, Symbol
from sympy.core.function import AppliedUndef

Name = Symbol | Indexed | AppliedUndef
Pair = tuple[Name, Expr]


def is_name(expr: Expr) -> bool:
    """Can a definition be about ``expr``?"""
    return isinstance(expr, (Symbol, Indexed, AppliedUndef))


def _key(name: Name) -> object:
    if isinstance(name, Indexed):
        return name.base
    return name.func if isinstance(name, AppliedUndef) else name


def _mentioned(expr: Expr) -> Iterator[Name]:
    labels = {q.base.label for q in expr.atoms(Indexed)}
    yield from expr.atoms(Indexed, AppliedUndef)
    yield from (q for q in expr.free_symbols
                if isinstance(q, Symbol) and q not in labels)


def _shift(name: Name, other: Name) -> float:
    """By how much the index of ``other`` is ahead; inf where it cannot be told."""
    if not isinstance(name, Indexed) or not isinstance(other, Indexed):
        return inf if isinstance(name, Indexed) or isinstance(other, Indexed) else 0
    ahead = [q - p for p, q in zip(name.indices, other.indices)]
    whole = [q for q in ahead if q.is_Integer and q != 0]
    if whole:
        return int(whole[0])
    same = all(q == 0 for q in ahead) and len(name.indices) == len(other.indices)
    return 0 if same else inf


def overlap(name: Name, other: Name) -> bool:
    """Do two defined names mean the same entry for some index?

    m[0] and m[t] do not: one starts the recursion that the other states.
    """
    if _key(name) != _key(other):
        return False
    if not isinstance(name, Indexed):
        return isinstance(name, Symbol) or name == other
    for p, q in zip(name.indices, other.indices):
        numbers = [r for r in (p, q) if r.is_Integer]
        marks = [r for r in (p, q) if isinstance(r, Dummy)]  # a whole array
        if p != q and (len(numbers) == 2 or len(numbers) == 1 and not marks):
            return False
    return True


def ahead_of(start: Iterable[tuple[Name, float]], pairs: list[Pair]) -> dict:
    """Every name reached from ``start``, and how far ahead its index may be.

    All that lies ahead counts alike (inf), so that the search ends.
    """
    found: dict = {}
    waiting = list(start)
    while waiting:
        name, offset = waiting.pop()
        offset = inf if offset > 0 else offset
        if found.get(_key(name), -inf) >= offset:
            continue
        found[_key(name)] = offset
        for left, right in pairs:
            if _key(left) == _key(name):
                waiting += [(q, offset + _shift(left, q)) for q in _mentioned(right)]
    return found


def is_circular(pairs: list[Pair]) -> bool:
    """Does some definition, followed through the others, come back to itself?"""
    return any(
        ahead_of([(q, _shift(left, q)) for q in _mentioned(right)], pairs).get(
            _key(left), -inf) >= 0
        for left, right in pairs)


def hides(expr: Expr, variable: Name, pairs: list[Pair]) -> Name | None:
    """A name in ``expr`` that depends on ``variable`` by definition, or None."""
    for name in sorted(_mentioned(expr), key=str):
        if _key(name) == _key(variable):
            continue
        reached = ahead_of([(name, _shift(variable, name))], pairs)
        if reached.get(_key(variable), -inf) >= 0:
            return name
    return None


def common(names: Iterable[Name], others: Iterable[Name], pairs: list[Pair]) -> set:
    """What both groups of names rest on."""
    reached, also = (ahead_of([(q, inf) for q in group], pairs)
                     for group in (names, others))
    return set(reached) & set(also)
