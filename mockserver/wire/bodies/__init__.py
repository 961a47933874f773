"""What callers send to the payments API: the bodies and queries of each resource, as classes of
pydantic.

A class has one field for each member of the JSON object; ``paymentMethodId`` is
``payment_method_id`` here. Its ``command()`` builds what the engine is asked to do, a record of
``mockserver.domain.commands``, field by field: a search for a field's name leads from the body to
the command, to the stored object and to the answer. A field that no command takes is read, checked
and forgotten, as the service does with it.

Null means absent. So a flag whose default is true is read ``is not False``, one whose default is
false ``is True``. A field is required here only where every published client sends it; what else
must be there is an assumption, which the engine asks.

Sources: docs/spec/service.md; docs/spec/published-facts.md, 1.2, 1.3, 2, 3, 8 (rows 7-16).
"""
