"""Libraries of the extra ``datasets``, imported where they are needed."""

from __future__ import annotations

from functools import partial

from aucross.system.libraries import import_library

dataset_library = partial(import_library, extra="datasets")
