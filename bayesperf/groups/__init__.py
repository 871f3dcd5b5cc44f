"""Groups of examples that share a population (folds, sites, images), by quadrature."""

import lazy_loader

# Lent when it is asked for: the command line uses files of this room, and loads no other.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
