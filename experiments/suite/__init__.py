"""The suite: 35 data sets that nobody here chose, and the paper's tables, with every method and every peer."""
