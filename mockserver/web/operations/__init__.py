"""The operations of the payments API: a module for each resource, with its routes and what each
does.

A function here is short: it hands the command of the body to one function of the engine and shows
what came of it. ``ROUTES`` of a module says where each is found over HTTP;
``mockserver.web.routes.ROUTES`` has those of all modules.
"""
