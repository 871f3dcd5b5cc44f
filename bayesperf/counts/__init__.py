"""How predictions come in: columns of labels, tables, data frames and scores become counts."""
