"""Groups of examples that share a population (folds, sites, images), by quadrature."""
