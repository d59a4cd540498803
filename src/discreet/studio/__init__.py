"""The studio: a web page on this machine for curators and analysts; pages, routes and wording only.

Every page calls the public verbs: ``release``, ``check``, ``plan``, ``infer``, ``report`` and the ledger's. Analyst
routes never import what sees rows (:mod:`discreet.studio.analyst_routes`), and :mod:`discreet.studio.guard` stands
before all of them.
"""
