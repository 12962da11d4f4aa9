"""Pages are tested by their code blocks; scripts of the galleries are run by the build of the documentation."""

collect_ignore_glob = [
    *("conf.py", "_extensions/*", "examples/*", "auto_examples/*", "tutorials/*", "auto_tutorials/*"),
    *("_build/*", "reference/generated/*"),
]
