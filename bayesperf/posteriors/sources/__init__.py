"""Where the cells of a posterior come from: each source is data that `bayesperf.posteriors.posterior` queries."""
