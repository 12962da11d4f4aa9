"""Tools that know nothing of classifiers: files written as a whole, optional libraries, text, notebooks."""
