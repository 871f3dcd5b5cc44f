"""Where the cells of a posterior come from: each source is data, and is asked by `bayesperf.posteriors.posterior`."""
