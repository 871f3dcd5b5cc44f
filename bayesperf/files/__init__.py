"""Files of predictions as people have them: read, checked and counted."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"looking": ["look"]})
