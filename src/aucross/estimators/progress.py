"""Progress of a fit, reported to the callbacks that the user has set, as scikit-learn does since 1.9.

``clf.set_callbacks(ProgressBar())`` shows the trainings of a fit and the placing of its bands. Below scikit-learn 1.9
there are no callbacks, and the same steps go to the log alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from itertools import count
from typing import Any

logger = logging.getLogger(__name__)

CallbackSupport: Any = object
with_callbacks: Any = lambda method: method  # noqa: E731  (a name with a type, not a function)
if find_spec("sklearn.callback") is not None:  # since scikit-learn 1.9
    from sklearn import callback

    CallbackSupport, with_callbacks = callback.CallbackSupportMixin, callback.with_callbacks


# A step of a fit, by name, from its beginning to its end.
Step = Callable[[str], AbstractContextManager[None]]


@contextmanager
def fit_progress(clf: Any, n_steps: int) -> Iterator[Step]:
    """Report the current step of a fit to the callbacks of `clf` and to the log."""
    begun = count(1)
    start = getattr(clf, "_init_callback_context", None)
    root = None if start is None else start(max_subtasks=n_steps).call_on_fit_task_begin(estimator=clf)

    @contextmanager
    def step(name: str) -> Iterator[None]:
        logger.debug("step %d of %d: %s", next(begun), n_steps, name)
        context = None if root is None else root.subcontext(task_name=name).call_on_fit_task_begin(estimator=clf)
        yield
        if context is not None:
            context.call_on_fit_task_end(estimator=clf)

    yield step
    if root is not None:
        root.call_on_fit_task_end(estimator=clf)
