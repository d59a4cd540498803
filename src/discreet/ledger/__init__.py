"""The budget, kept: an append-only account of every charge, in a database that several processes can share.

``ledger.py`` is what a curator uses; ``filters.py`` says what adds up how, ``chain.py`` how entries are sealed,
``store.py`` where they are kept, and ``verify.py`` what an auditor can find out.
"""

from discreet.extras import needed_for

with needed_for("a ledger"):
    from discreet.ledger.accounts import Account, Charge
    from discreet.ledger.filters import Terms, Totals
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.verify import Verification

__all__ = ["Account", "Charge", "Ledger", "Terms", "Totals", "Verification"]
