"""Labels that are missing or wrong: a verified part with a judge of all examples, several raters, noisy labels.

`verify` handles systems with only some predictions verified, and `next_labels` says which examples to verify next.
`noise` handles labels that are wrong at a rate with a known prior, `noise_sensitivity` several such rates. `prevalence`
estimates the prevalence of unlabelled examples from calls with known errors. `truth` and `identifiability` describe
fits of ratings by several raters (`bayesperf.Ratings`).
"""

import lazy_loader

# Lent when it is asked for: the command line uses files of this room, and loads no other.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
