"""Derivations that a machine checks: sums, expectation, matrices, ledger, bridge.

An author writes formulas with the names of ``notation``, chains them in a
``Derivation`` and holds the result against the package with ``agree``. The algebra
beneath works on plain SymPy expressions and can be used directly.
"""

from mlbook.symbolic.algebra import (
    collapse,
    complete_square,
    equal_by_induction,
    identical,
    impose,
    manifestly_nonnegative,
    normal_form,
    partial,
    peel_last,
    rename_bound,
    replace_indexed,
    solves_recursion,
    stationary_point,
    taylor,
)
from mlbook.symbolic.bridge import Agreement, Disagreement, agree, key_lines
from mlbook.symbolic.expectation import (
    Expect,
    RandomVariable,
    linear,
    random_array,
    random_symbol,
)
from mlbook.symbolic.ledger import Derivation, DerivationError, Step, show
from mlbook.symbolic.matrices import GradientError, gradient
from mlbook.symbolic.notation import (
    E,
    Equation,
    Term,
    absolute,
    delta,
    derivative,
    exp,
    fraction,
    function,
    group,
    index,
    indices,
    log,
    matrix,
    prod,
    rows,
    scalars,
    sequence,
    sigmoid,
    sign,
    sizes,
    softplus,
    sqrt,
    tanh,
    total,
    vector,
)
from mlbook.symbolic.numeric import evaluate, to_numpy

__all__ = [name for name in dir() if not name.startswith("_")]
