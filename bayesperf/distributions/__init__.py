"""Arrays of one-dimensional distributions with common methods: cdf, pdf, quantiles, moments, intervals and draws."""
