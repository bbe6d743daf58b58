"""The tested implementations behind the book: one module for each chapter.

Importing ``mlbook`` imports nothing else; take what you need from its modules, for
example ``from mlbook.networks.optimizers import Adam``. NumPy serves them all, SymPy
only ``mlbook.symbolic`` and Matplotlib only ``mlbook.figures``.
"""

__version__ = "0.1.0"
