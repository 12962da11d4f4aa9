"""Tools that do not depend on classifiers: files written as a whole, optional libraries, text, notebooks."""
