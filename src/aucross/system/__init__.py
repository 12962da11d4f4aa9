"""Tools for the machine that know nothing of classifiers: whole files, libraries that may be missing."""
