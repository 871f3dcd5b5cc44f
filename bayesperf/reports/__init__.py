"""The report: it calls the library, and shows the results as a page, on a terminal, or as JSON."""

import lazy_loader

# Lent when it is asked for: the command line's first steps use rooms beside it, and load no page.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"reporting": ["Report"]})
