"""The report and the command line: they read files, call the library, and show what it says."""

import lazy_loader

# Lent when it is asked for: the command line's first steps use rooms beside it, and load no page.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"reporting": ["Report"]})
