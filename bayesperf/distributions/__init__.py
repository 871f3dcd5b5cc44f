"""One-dimensional distributions as arrays, all with the same verbs: cdf, pdf, quantiles, moments, intervals, draws."""
