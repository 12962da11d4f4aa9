"""What touches the machine and knows nothing of classifiers: whole files, libraries that may be missing."""
