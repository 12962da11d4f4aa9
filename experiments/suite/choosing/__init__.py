"""When to use what: the rule of the library, found on half of the sets of the suite and checked on the other half."""
