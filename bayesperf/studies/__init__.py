"""Simulation studies: how the methods of this package do where the truth is known.

Every study takes parameters, runs its simulations in parallel, and returns an `xarray.Dataset` with every setting
in its ``attrs``. With ``folder=`` finished simulations are kept there, so that an interrupted study goes on where it
stopped and ends with the same figures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
