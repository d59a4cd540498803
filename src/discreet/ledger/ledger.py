"""The ledger: budgets of data sets, and every charge against them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.domain.where import read_where
from discreet.errors import LedgerError, UsageError
from discreet.ledger import hash_chain as chain
from discreet.ledger.accounts import (
    Account,
    Charge,
    add_partition,
    after_charge,
    begun,
    charged_before,
    check_derived,
    checked_name,
    opened_before,
    unknown,
)
from discreet.ledger.filters import (
    Countable,
    Terms,
    Totals,
    chargeable,
    countable,
    guarantee_json,
    terms_of,
)
from discreet.ledger.hash_chain import Entry, Head, read_entry
from discreet.ledger.partitions import part_of, read_partition
from discreet.ledger.store import EVERYBODY, Session, Store
from discreet.privacy import Guarantee
from discreet.privacy.composition import GroupKey
from discreet.rational import Number

if TYPE_CHECKING:
    from discreet.artifact import Release
    from discreet.ledger.verify import Verification


class Ledger:
    """A privacy budget that is kept in a database and cannot be overspent.

    ``dc.release(..., ledger=ledger, dataset="clinic-2026")`` charges the data set first, durably, and then releases.
    Any number of processes may share a ledger.

    Parameters
    ----------
    url
        ``"sqlite:///budget.db"``, or the URL of a PostgreSQL database, such as ``"postgresql://user@host/database"``.
    budget
        The budget of data sets that are not opened by name: :class:`PureDP`, :class:`ApproxDP` or
        :class:`ZeroConcentratedDP`. With it, a ledger that does not exist is created; without it, that is an error. It
        cannot be changed: for a ledger that exists it must be the recorded one, or be left out.
    patience
        Seconds to wait for other processes before giving up.

    Privacy
    -------
    Charges are adaptive, so each kind of budget has a filter that is valid whatever is asked next; see
    :mod:`discreet.ledger.filters` for the rules and proofs. Amounts are exact rationals: 300 charges of 0.01
    fit a budget of 3. A charge is on the disk before the noise of its release is drawn, so a crash can waste budget
    and never exceed it.

    Entries are chained by hashes. With a key in the environment variable ``DISCREET_LEDGER_KEY`` when the ledger is
    created, its newest entry is sealed too, and then every program that writes to it needs that key.
    """

    def __init__(self, url: str, budget: Guarantee | None = None, *, patience: float = 60.0) -> None:
        self._default = None if budget is None else countable(budget, "budget")
        self._key = chain.key_from_environment()
        self._store = Store(url, patience)
        if self._default is not None:
            _begin(self._store, self._key, self._default)
        else:
            self._store.require()
        with self._store.reading() as session:
            self._id = session.head().ledger
            first = session.entry(0)
        self._sealed, self._default = begun(first and first[1], self.url, self._default)

    @classmethod
    def create(cls, url: str, *, patience: float = 60.0) -> Ledger:
        """Create a ledger without a default budget, unless there is one: every data set must then be opened by name."""
        store = Store(url, patience)
        _begin(store, chain.key_from_environment(), None)
        store.close()
        return cls(url, patience=patience)

    def __repr__(self) -> str:
        return f"<Ledger {self._id} at {self.url}>"

    @property
    def id(self) -> str:
        """The ledger's random identifier, which release files carry."""
        return self._id

    @property
    def url(self) -> str:
        """Where the ledger is kept, without the password."""
        return self._store.name

    @property
    def head(self) -> str:
        """The hash of the newest entry: keep a copy elsewhere, and :meth:`verify` can tell that nothing is gone."""
        with self._store.reading() as session:
            return session.head().hash

    def open(
        self,
        dataset: str,
        budget: Guarantee | None = None,
        per_analyst: Guarantee | None = None,
        *,
        renyi_share: Number = Fraction(1, 2),
    ) -> Account:
        """Give a data set its budget, once and for all.

        Parameters
        ----------
        dataset
            The name that charges will use.
        budget
            What all releases from the data set may amount to; the ledger's own default if left out.
        per_analyst
            What the releases to any one analyst may amount to, besides. Every charge must then name its analyst.
        renyi_share
            For an approximate budget, the share of its delta that pays for adding up charges that are not approximate
            by the Rényi filter; approximate charges share the rest. 0 switches the filter off, and then approximate
            charges can use all of delta.
        """
        with self._store.writing() as session:
            head = self._checked_head(session)
            wanted = budget if budget is not None else self._default
            if wanted is None:
                raise UsageError("this ledger has no default budget: give one for the data set.")
            terms = terms_of(wanted, renyi_share)
            analysts = None if per_analyst is None else terms_of(per_analyst, renyi_share)
            found = session.account(checked_name(dataset, "dataset"))
            if found is None:
                self._open(session, head, dataset, terms, analysts)
                return Account(dataset, None, terms, Totals())
            return opened_before(dataset, found, terms, analysts)

    def declare_partition(
        self, dataset: str, column: str, labels: Sequence[str], *, key: GroupKey = "private"
    ) -> Account:
        """Declare that rows with different labels of a column are different parts of a data set of records.

        Of releases with ``where="region = 'north'"`` or another label, those about the one part that cost most count
        then (``neighbors="add_remove"``), or about two (``"replace"``: a record may move from one part to another).
        Declare no column whose labels change between releases. ``key="public"`` declares that everybody knows the part
        of each record, also under ``replace``: one part counts then, and the part of a record is not protected.
        """
        made = read_partition(column, labels, key)
        with self._store.writing() as session:
            head = self._checked_head(session)
            account, is_new = add_partition(session, dataset, made)
            if is_new:
                self._append(session, head, "partition", {"dataset": dataset, **made.to_json()})
        return account

    def check(
        self,
        dataset: str,
        *parts: Guarantee,
        analyst: str | None = None,
        where: str | None = None,
        request: str | None = None,
    ) -> None:
        """Raise what :meth:`charge` would raise now; nothing is charged."""
        with self._store.reading() as session:
            self._key_fits(session.head())
            condition = read_where(where)
            if charged_before(session, request, dataset, analyst, parts, condition) is None:
                after_charge(session, self._default, dataset, analyst, parts, condition)

    def charge(
        self,
        dataset: str,
        *parts: Guarantee,
        analyst: str | None = None,
        model: str | None = None,
        where: str | None = None,
        request: str | None = None,
    ) -> Charge:
        """Charge a data set, durably, or raise :class:`BudgetError` and change nothing.

        Parameters
        ----------
        dataset
            Which data set; one that was never opened is opened with the ledger's default budget.
        parts
            What the release promises; several parts are charged together or not at all.
        analyst
            For whom. Needed if analysts have budgets of their own.
        model
            What is released, in a few words, for whoever reads the ledger.
        where
            The public filter of the rows that the release is about, which :func:`release` passes on; if it names a
            part of a declared partition, the charge is about that part. :meth:`verify` compares it with the file.
        request
            A random text of the caller's. The same request is charged once: later calls return the charge that is
            there, until its release is noted.
        """
        condition = read_where(where)
        with self._store.writing() as session:
            head = self._checked_head(session)
            made = charged_before(session, request, dataset, analyst, parts, condition)
            if made is not None:
                return Charge(self._id, made.sequence, made.hash, dataset, analyst)
            after = after_charge(session, self._default, dataset, analyst, parts, condition)
            about = part_of(after[0][1].partitions, condition)
            if session.account(dataset) is None:
                head = self._open(session, head, dataset, after[0][1], None)
            content = {
                "dataset": dataset,
                "analyst": analyst,
                "model": model,
                "guarantees": [guarantee_json(chargeable(part)) for part in parts],
                # absent otherwise, so that entries stay what they were
                **({} if about is None else {"where": str(condition), "part": list(about)}),
                **({} if request is None else {"request": request}),
            }
            made = self._append(session, head, "charge", content)
            for scope, terms, totals in after:
                if scope != EVERYBODY and session.account(dataset, scope) is None:
                    session.add_account(dataset, scope, terms, None)
                session.set_totals(dataset, scope, totals)
        return Charge(self._id, made.sequence, made.hash, dataset, analyst)

    def released(self, charge: Charge, releases: Sequence[tuple[str, str]]) -> None:
        """Note the identifiers and checksums of what was released under a charge; once, and nothing else after it."""
        with self._store.writing() as session:
            head = self._checked_head(session)
            found = session.entry(charge.sequence)
            if charge.ledger != self._id or found is None or found[1].hash != charge.hash:
                raise UsageError("this charge is not in this ledger.")
            listed = [{"id": one, "sha256": checksum} for one, checksum in releases]
            noted = session.released_under(charge.sequence)
            if noted == listed:
                return
            if noted is not None:
                raise UsageError("the releases of this charge were noted already, and they are others.")
            self._append(session, head, "released", {"charge": charge.sequence, "releases": listed})

    def derived(self, release: Release, id: str, sha256: str) -> None:
        """Note a file that was made from a release of this ledger without the rows, such as a coarser one.

        Privacy
        -------
        Nothing is charged: whoever sees a release and everything made from it has the release's own guarantee, which
        its charge paid for. A data set whose analysts have budgets of their own is refused, because the new file's
        readers need not be those that were charged.
        """
        stamp = release.ledger
        with self._store.writing() as session:
            head = self._checked_head(session)
            check_derived(session, self._id, stamp)
            made = [{"id": id, "sha256": sha256}]
            content = {"charge": stamp and stamp.sequence, "from": release.id, "releases": made}
            self._append(session, head, "derived", content)

    def account(self, dataset: str, analyst: str | None = None) -> Account:
        """Return the account of a data set, or of one of its analysts."""
        with self._store.reading() as session:
            found = session.account(checked_name(dataset, "dataset"))
            if found is None:
                raise unknown(session, dataset)
            if analyst is None:
                return Account(dataset, None, *found[:2])
            if found[2] is None:
                raise UsageError(f"analysts of the data set {dataset!r} have no budgets of their own.")
            own = session.account(dataset, checked_name(analyst, "analyst"))
            terms, totals = (found[2], Totals()) if own is None else own[:2]
            return Account(dataset, analyst, terms, totals)

    def accounts(self) -> list[Account]:
        """Return all accounts, each data set before its analysts."""
        with self._store.reading() as session:
            return [Account(d, a or None, terms, totals) for d, a, terms, totals, _ in session.accounts()]

    def entries(self) -> Iterator[Entry]:
        """Walk through all entries, oldest first."""
        for _, _, _, body in self._store.entries():
            yield read_entry(body)

    def verify(
        self, *, against: Sequence[Release | str | Path] = (), head: str | None = None
    ) -> Verification:
        """Check the whole chain, add every charge up again, and compare with what is known from elsewhere.

        Parameters
        ----------
        against
            Releases, or their files, that were charged to this ledger.
        head
            A hash that :attr:`head` had at some time.
        """
        from discreet.ledger.verify import verify

        return verify(self._store, self._key, against=against, head=head)

    @classmethod
    def audit(
        cls,
        url: str,
        *,
        against: Sequence[Release | str | Path] = (),
        head: str | None = None,
        patience: float = 60.0,
    ) -> Verification:
        """Verify the ledger at a URL, even one that is too damaged to be opened."""
        from discreet.ledger.verify import verify

        store = Store(url, patience)
        store.require()
        try:
            return verify(store, chain.key_from_environment(), against=against, head=head)
        finally:
            store.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()

    def _checked_head(self, session: Session) -> Head:
        """Take the write lock; raise if the newest entry is not the one that the head and its seal speak of."""
        head = session.head(lock=True)
        self._key_fits(head)
        newest = session.entry(head.sequence)
        if newest is None or not newest[0] == newest[1].hash == head.hash:
            raise LedgerError(
                "the newest entry of the ledger is missing or was altered.", hint="verify the ledger"
            )
        return head

    def _key_fits(self, head: Head) -> None:
        if head.ledger != self._id:
            raise LedgerError(
                f"at {self.url} there is another ledger now.",
                hint="nothing was charged; open the ledger again",
            )
        chain.check_seal(head, self._key, is_sealed=self._sealed)

    def _open(
        self, session: Session, head: Head, dataset: str, terms: Terms, per_analyst: Terms | None
    ) -> Entry:
        analysts = per_analyst and per_analyst.to_json()
        content = {"dataset": dataset, "terms": terms.to_json(), "per_analyst": analysts}
        made = self._append(session, head, "open", content)
        session.add_account(dataset, EVERYBODY, terms, per_analyst)
        return made

    def _append(self, session: Session, head: Head | Entry, kind: str, content: dict[str, Any]) -> Entry:
        made = Entry(head.ledger, head.sequence + 1, kind, chain.now(), head.hash, content)
        session.append(made, self._key)
        return made


def _begin(store: Store, key: bytes | None, default: Countable | None) -> None:
    """Make the tables and write the first entry, unless they are there or another process just did."""
    if store.exists():
        with store.reading() as session:
            if not session.is_empty():
                return
    store.create()
    with store.writing() as session:
        session.alone()
        if not session.is_empty():
            return
        budget, sealed = default and guarantee_json(default), key is not None
        content = {"format": chain.FORMAT, "version": chain.VERSION, "budget": budget, "sealed": sealed}
        first = Entry(str(uuid.uuid4()), 0, "ledger", chain.now(), chain.NOTHING, content)
        session.append(first, key)
