"""The desk (extra ``desk``): pages on which people decide the cases of a record, also available over HTTP.

::

    record ──► open cases ──► claimed by one person ──► answer, before the machine's is shown ──► record
               audits mixed in                          then the machine's answer, and a last word
"""

from aucross.desk.app import create_desk
from aucross.desk.door import Proxy
from aucross.desk.people import Desk, Person
from aucross.desk.work import Rules

__all__ = ["Desk", "Person", "Proxy", "Rules", "create_desk"]
