"""A classifier behind HTTP (extra ``serve``): typed rows in, decisions out, each on the disk before it is handed out.

::

    request ──► typed rows ──► queue ──► all that wait: scored, decided, logged by one write ──► answers
                (schema)                 (deciding)                                               └► metrics, monitor
"""

from aucross.serve.app import ServeOptions, make_app
from aucross.serve.rows import ServedModel

__all__ = ["ServeOptions", "ServedModel", "make_app"]
