"""What a session sees: the same text in every process, and quick imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LEDGER = '''
from mlbook.symbolic import *

n, d = sizes("n d")
i, j = indices("i j", n)
t, s = index("t"), index("s")
b, C, c, mu, var = scalars("b C c mu v")
beta = scalars("beta", positive=True)
w, x, y = vector("w", d), rows("x", n, d), sequence("y", n)
alpha, xi, zeta = sequence("alpha", n), sequence("xi", n), sequence("zeta", n)
m, g = sequence("m", n), sequence("g", n)
A, K = matrix("A", n, d), matrix("K", n, n)
eps, f = sequence("eps", n, random=True), scalars("f", random=True)
L, S, P = scalars("L S P")

D = Derivation("Everything at once")
lagrangian = D.define(
    L, w @ w / 2 + C * total(xi[i], i) - total(zeta[i] * xi[i], i)
    - total(alpha[i] * (y[i] * (w @ x[i] + b) - 1 + xi[i]), i), "The Lagrangian.")
D.differentiate(lagrangian, w, w - total(alpha[i] * y[i] * x[i], i), "In w.")
D.differentiate(lagrangian, b, -total(alpha[i] * y[i], i), "In b.")
D.differentiate(lagrangian, xi[i], C - alpha[i] - zeta[i], "In the slack.")
best = D.stationary(lagrangian, w, total(alpha[i] * y[i] * x[i], i), "The best w.")
balance = D.given(total(alpha[i] * y[i], i), 0, "The constraint.")
box = D.given(zeta[i], C - alpha[i], "Where the slack's slope vanishes.")
D.prove(L, total(alpha[i], i)
        - total(alpha[i] * alpha[j] * y[i] * y[j] * (x[i] @ x[j]), i, j) / 2,
        "The dual.", using=[lagrangian, best, balance, box])
step = D.given(m[t], beta * m[t - 1] + (1 - beta) * g[t], "A moving average.")
start = D.given(m[0], 0, "It starts at 0.")
D.induct(m[t], (1 - beta) * total(beta**(t - s) * g[s], (s, 1, t)), "Unrolled.", on=t,
         recursion=step, start=start)
mean = D.given(E(eps[i]), 0, "No noise on average.")
second = D.given(E(eps[i] * eps[j]), var * delta(i, j), "White.")
D.prove(E(total(eps[i], i)**2), n * var, "The variance of a sum.", using=[second])
D.prove(E((f + eps[i])**2), E(f**2) + var, "Error and noise.", using=[mean, second],
        independent=[[f], [eps]])
D.bound(total(y[i], i)**2, n * total(y[i]**2, i), "Cauchy and Schwarz.",
        gap=total((y[i] - y[j])**2, i, j) / 2)
D.prove(total(K[i, j] * y[i] * y[j], i, j), total(K[j, i] * y[i] * y[j], i, j),
        "By exchange.", check_at={n: 3})
print(D)
print(D._repr_markdown_())
print(D.evidence())

wrong = [
    lambda: D.prove(total(x[i], i), n * x[1], "Wrong."),
    lambda: D.prove(A.T @ K, 2 * (A.T @ K), "Wrong, with two indices."),
    lambda: D.prove(total(K[i, j] * y[i], i, j), total(y[i], i), "Wrong."),
    lambda: D.prove(E(f * eps[i]), E(f), "Wrong."),
    lambda: D.induct(m[t], total(g[s], (s, 1, t)), "Wrong.", on=t, recursion=step,
                     start=start),
    lambda: D.stationary(lagrangian, w, total(y[i] * x[i], i), "Wrong."),
    lambda: D.bound(total(y[i], i)**2, n * total(y[i]**2, i), "Wrong.",
                    gap=total((y[i] + y[j])**2, i, j) / 2),
]
for make in wrong:
    try:
        make()
    except DerivationError as error:
        print(error)
    else:
        raise SystemExit("a wrong step was taken")
'''


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          cwd=ROOT, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_printed_text_does_not_depend_on_the_hash_seed():
    texts = {seed: python(LEDGER, PYTHONHASHSEED=seed) for seed in "01234"}
    assert len(set(texts.values())) == 1
    text = texts["0"]
    assert text.count("does not follow") == 5 and "Everything at once: 17" in text
    for machine_name in ("_s0_", "_l", "Dummy", "_put", "0x"):
        assert machine_name not in text


IMPORT = """
import resource, sys
before = resource.getrusage(resource.RUSAGE_SELF)
import mlbook.symbolic
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def test_import_is_quick():
    assert min(float(python(IMPORT)) for _ in range(3)) < 1.5  # seconds of CPU time


@pytest.mark.parametrize("module", ["mlbook", "mlbook.networks",
                                    "mlbook.networks.optimizers", "mlbook.base"])
def test_the_rest_of_the_package_needs_neither_sympy_nor_matplotlib(module):
    loaded = python(f"import sys, {module}; print(*sys.modules)").split()
    assert not {"sympy", "matplotlib", "scipy", "sklearn"} & set(loaded)


def test_the_engine_needs_numpy_and_sympy_only():
    loaded = set(python("import sys, mlbook.symbolic; print(*sys.modules)").split())
    assert "sympy" in loaded
    assert not {"matplotlib", "scipy", "sklearn", "pandas"} & loaded
