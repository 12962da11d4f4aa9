"""A classifier behind HTTP (extra ``serve``): typed rows in, decisions out, each on disk before it is sent.

::

    request ──► typed rows ──► queue ──► all that wait: scored, decided, logged by one write ──► answers
                (served_model)           (decider)                                                └► metrics, monitor
"""

from aucross.serve.app import ServeOptions, make_app
from aucross.serve.served_model import ServedModel

__all__ = ["ServeOptions", "ServedModel", "make_app"]
