"""Where the cells of a posterior come from: each source is data that `bayesperf.posteriors.posterior` queries."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from bayesperf.posteriors.sources import shared_cells as shared_cells

# Lent when it is used: two classes share no prior.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"shared_cells"})
