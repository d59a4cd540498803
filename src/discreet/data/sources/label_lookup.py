"""The declared labels as a look-up from values to positions, made once for a column of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.sources.kinds import Kind, as_latin1
from discreet.data.sources.source import Need, Picked
from discreet.data.sources.values import EXACT_IN_FLOAT, Vocabulary, floats

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Lookup:
    """Which values mean a label in a column of this kind: ``keys``, each once, and the ``positions`` of their labels.

    Keys are texts, or sorted integers. Floats are compared as integers, because a whole number up to 2^53 is the same
    in both and some engines tell -0.0 from 0.0.
    """

    kind: Kind
    n_labels: int
    keys: pa.Array
    positions: np.ndarray

    @classmethod
    def of(cls, kind: Kind, vocabulary: Vocabulary, *, latin1: bool) -> Lookup:
        """Collect the keys for a column; ``latin1`` says that its text is UTF-8 decoded as Latin-1."""
        k = vocabulary.n_labels
        if kind is Kind.TEXT:
            words = {as_latin1(word) if latin1 else word: at for word, at in vocabulary.words.items()}
            # no text that an engine holds has half a surrogate pair in it
            words = {word: at for word, at in words.items() if word.isascii() or _is_unicode(word)}
            keys = _texts(list(words))
            return cls(kind, k, keys, np.fromiter(words.values(), dtype=np.int32))
        if kind is Kind.CODE:
            found = {at: at for at in range(k)}
        elif kind is Kind.FLAG:
            found = {int(flag): at for flag, at in vocabulary.flags.items()}
        else:
            largest = EXACT_IN_FLOAT if kind is Kind.NUMBER else _LARGEST
            found = {value: at for value, at in vocabulary.integers.items() if abs(value) <= largest}
        ordered = sorted(found)
        positions = np.array([found[value] for value in ordered], dtype=np.int32)
        return cls(kind, k, _integers(ordered), positions)

    def table(self) -> pa.Table:
        """Return the keys and their labels, to be joined with rows."""
        return pa.table({"key": self.keys, "label": _integers(self.positions)})

    def codes(self, array: pa.Array) -> np.ndarray:
        """Return the position of each value's label, or the number of labels where it spells none."""
        k = self.n_labels
        if pa.types.is_null(array.type):
            return np.full(len(array), k, dtype=np.int32)
        if pa.types.is_dictionary(array.type):
            # each value once, then by its place; the last entry is for nulls
            codes = np.append(self.codes(array.dictionary), np.int32(k))
            return codes[_filled(array.indices, len(codes) - 1)]
        if self.kind is Kind.TEXT:
            options = pc.SetLookupOptions(self.keys)
            found = pc.call_function("index_in", [array.cast(pa.large_string())], options)
            return np.append(self.positions, np.int32(k))[_filled(found, len(self.keys))]
        if self.kind is Kind.NUMBER:
            x = floats(array)
            # NaN, also for nulls, and infinities fail the comparisons; what is left converts exactly
            whole = (np.abs(x) <= EXACT_IN_FLOAT) & (x == np.floor(x))
            return np.where(whole, self._looked_up(np.where(whole, x, 0.0).astype(np.int64)), np.int32(k))
        codes = self._looked_up(_filled(array.cast(pa.int64()), 0))
        if array.null_count:
            codes[np.asarray(array.is_null().to_numpy(zero_copy_only=False))] = k
        return codes

    def _looked_up(self, x: np.ndarray) -> np.ndarray:
        """Return the code of each integer: its position in a sorted list, compared."""
        ordered, k = self.keys.to_numpy(), self.n_labels
        if not len(ordered):
            return np.full(len(x), k, dtype=np.int32)
        low, high = int(ordered[0]), int(ordered[-1])
        if high - low < 2 * len(ordered) + 8:
            # nearly consecutive: one look-up, with an entry at either end for all others
            table = np.full(high - low + 3, k, dtype=np.int32)
            table[ordered - low + 1] = self.positions
            # modulo 2^64, so that what is not there is far above or below
            return np.take(table, np.subtract(x, low - 1), mode="clip")
        at = np.minimum(np.searchsorted(ordered, x), len(ordered) - 1)
        return np.where(ordered[at] == x, self.positions[at], np.int32(k))


def lookups(picked: Picked, needs: Sequence[Need]) -> list[Lookup | None]:
    """Return the look-up of each column that was picked, ``None`` for one without labels."""
    return [
        None if need.vocabulary is None else Lookup.of(kind, need.vocabulary, latin1=picked.latin1)
        for need, kind in zip(needs, picked.kinds, strict=True)
    ]


def lookup_key(column: nw.Expr, kind: Kind) -> nw.Expr:
    """Return what is compared with the keys of a look-up, for engines that join it with their rows."""
    if kind is Kind.NUMBER:
        # as integers, because some engines tell -0.0 from 0.0; NaN and infinities fail the comparisons
        whole = (column >= -EXACT_IN_FLOAT) & (column <= EXACT_IN_FLOAT) & (column.floor() == column)
        return nw.when(whole).then(column).cast(nw.Int64)
    return column if kind is Kind.TEXT else column.cast(nw.Int64)


def _is_unicode(word: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _filled(array: pa.Array, value: int) -> np.ndarray:
    return np.asarray(array.fill_null(value).to_numpy(zero_copy_only=False))


# ``pyarrow.array`` would ask whether its values are pandas', and import pandas to find out


def _texts(words: list[str]) -> pa.Array:
    encoded = [word.encode() for word in words]
    ends = np.concatenate([[0], np.cumsum([len(word) for word in encoded])]).astype(np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(words), buffers)


def _integers(values: Sequence[int] | np.ndarray) -> pa.Array:
    held = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), held.size, [None, pa.py_buffer(held)])
