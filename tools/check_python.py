"""Say clearly why this interpreter cannot make the book's virtual environment.

Runs under whatever ``PYTHON`` names, so it keeps to syntax that old versions read.
"""

import sys

OLDEST, NEWEST = (3, 11), (3, 13)

if not OLDEST <= sys.version_info[:2] <= NEWEST:
    sys.exit(
        "mlbook needs Python 3.11, 3.12 or 3.13, but %s is %d.%d.\n"
        "Name another interpreter: make book PYTHON=python3.12"
        % ((sys.executable,) + tuple(sys.version_info[:2]))
    )
try:
    import ensurepip  # noqa: F401  (Debian ships it apart from python3)
    import venv  # noqa: F401
except ImportError:
    sys.exit(
        "%s lacks its venv module. On Debian: apt-get install python3-venv"
        % sys.executable
    )
