"""How many examples do we need? Plans for the next test set, from the evidence so far and its uncertainty.

`sample_size` asks when a requirement will be shown met (or settled either way), `comparison` when one system will be
shown better than another, and `interval_width` when an interval will be narrow enough. `labels` is for examples that
exist but have no true label yet. `decision` asks what more examples are worth to a decision at a threshold. `attempts`
asks whether a pass rate needs more attempts at each question or more questions, and `prevalence` whether a prevalence
needs more calls or more labels that validate them. `next_pairs` says which systems to compare next, `next_items` which
items tell most, and `best_system` how many votes or items would show which system is best. `more_studies` simulates
further studies of a test. `area`, `calibration` and `net_benefit` plan the validation of scores.

A plan is for one look, at its end. If you look as examples come in, use the confidence sequence of `bayesperf.monitor`,
which is valid however often you look; ``sample_size(look_every=…)`` says how many more examples that takes.
"""

import lazy_loader

# Lent when it is asked for: the command line uses files of this room, and loads no other.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
