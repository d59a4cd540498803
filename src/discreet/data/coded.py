"""Several columns at once, as arrays: label codes and numbers, batch by batch.

One pass over any source, however large. Nothing here depends on the engine: text, integers, booleans and floats are
compared with the declared labels in the same way as :mod:`discreet.data.kinds` compares them, on Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.data.batches import batches
from discreet.data.kinds import Kind, as_latin1
from discreet.data.seal import sealed
from discreet.data.source import Need, Picked, Source
from discreet.data.sources import open_source, resolve
from discreet.data.values import EXACT_IN_FLOAT, Vocabulary
from discreet.models.columns import Column, Labels


@dataclass(frozen=True, repr=False)
class CodedBatch:
    """Some of the records, in the order of the source. Private.

    ``codes`` has one column per declared column of labels, ``values`` one per declared column of numbers, both in the
    order of declaration. A code is the position of the label, or the number of labels for a value that is missing or
    undeclared. A missing number is NaN; others are as they are, also outside the bounds.
    """

    codes: np.ndarray
    values: np.ndarray

    @property
    def n_records(self) -> int:
        """How many records these are."""
        return len(self.codes)


def coded_batches(data: Any, columns: Sequence[Column], *, model: str = "the model") -> Iterator[CodedBatch]:
    """Yield every record of ``data`` once, as arrays.

    Parameters
    ----------
    data
        Whatever :func:`~discreet.data.summary.summarize` takes. Columns are found by name; in arrays and lists, which
        have no names, they are as many as are declared, in that order.
    columns
        The declared columns.
    model
        Who needs them, for messages about declarations.

    Privacy
    -------
    The batches are private. Only declarations raise: an absent column, a column whose type is wrong. A file is never
    held in memory as a whole.
    """
    vocabularies = [
        Vocabulary.of([(x,) for x in c.labels]) if isinstance(c, Labels) else None for c in columns
    ]
    needs = [Need(model, vocabulary) for vocabulary in vocabularies]
    with closing(sealed(lambda: open_source(data))) as source:
        walk = sealed(lambda: _walk(source, columns, needs))
        while (batch := sealed(lambda: next(walk, None))) is not None:
            yield batch


def _walk(source: Source, columns: Sequence[Column], needs: Sequence[Need]) -> Iterator[CodedBatch]:
    positions, _ = resolve(source, [column.name for column in columns], needs)
    picked = source.pick(positions, needs)
    return (
        _coded(batch, picked, needs) for frame in picked.frames for batch in batches(frame) if batch.num_rows
    )


def _coded(batch: pa.RecordBatch, picked: Picked, needs: Sequence[Need]) -> CodedBatch:
    labelled = [i for i, need in enumerate(needs) if need.labels]
    numeric = [i for i, need in enumerate(needs) if not need.labels]
    # column after column in memory, because that is how they are filled and counted
    codes = np.empty((batch.num_rows, len(labelled)), dtype=np.int32, order="F")
    values = np.empty((batch.num_rows, len(numeric)), dtype=np.float64, order="F")
    for at, i in enumerate(labelled):
        vocabulary = needs[i].vocabulary
        assert vocabulary is not None
        codes[:, at] = label_codes(batch.column(f"c{i}"), picked.kinds[i], vocabulary, latin1=picked.latin1)
    for at, i in enumerate(numeric):
        values[:, at] = _floats(batch.column(f"c{i}"))
    return CodedBatch(codes, values)


def label_codes(array: pa.Array, kind: Kind, vocabulary: Vocabulary, *, latin1: bool) -> np.ndarray:
    """Return the position of each value's label, or the number of labels where it spells none."""
    k = vocabulary.n_labels
    if pa.types.is_null(array.type):
        return np.full(len(array), k, dtype=np.int32)
    if kind is Kind.CODE:
        return _whole(array, {at: at for at in range(k)}, k)
    if kind is Kind.FLAG:
        table = np.array([vocabulary.flags.get(False, k), vocabulary.flags.get(True, k), k], dtype=np.int32)
        return table[_filled(array.cast(pa.int8()), 2)]
    if kind is Kind.INTEGER:
        return _whole(array, vocabulary.integers, k)
    if kind is Kind.NUMBER:
        x = _floats(array)
        # NaN and infinities fail the comparisons; what is left converts exactly
        whole = (np.abs(x) <= EXACT_IN_FLOAT) & (x == np.floor(x))
        small = {value: at for value, at in vocabulary.integers.items() if abs(value) <= EXACT_IN_FLOAT}
        codes = _looked_up(np.where(whole, x, 0.0).astype(np.int64), small, k)
        return np.where(whole, codes, k).astype(np.int32)
    words = list(vocabulary.words)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    known = pa.array([as_latin1(word) for word in words] if latin1 else words, type=pa.large_string())
    found = pc.call_function("index_in", [array.cast(pa.large_string())], pc.SetLookupOptions(known))
    table = np.array([*(vocabulary.words[word] for word in words), k], dtype=np.int32)
    return table[_filled(found, len(words))]


def _whole(array: pa.Array, integers: dict[int, int], k: int) -> np.ndarray:
    codes = _looked_up(_filled(array.cast(pa.int64()), 0), integers, k)
    if array.null_count:
        codes[np.asarray(array.is_null().to_numpy(zero_copy_only=False))] = k
    return codes


def _looked_up(x: np.ndarray, integers: dict[int, int], k: int) -> np.ndarray:
    """Return the code of each integer: its position in a sorted list, compared."""
    keys = sorted(value for value in integers if abs(value) < 2**63)
    if not keys:
        return np.full(len(x), k, dtype=np.int32)
    codes = np.array([integers[value] for value in keys], dtype=np.int32)
    if keys[-1] - keys[0] < 2 * len(keys) + 8:
        # nearly consecutive: one look-up, with a last entry for all others
        table = np.full(keys[-1] - keys[0] + 2, k, dtype=np.int32)
        table[np.array(keys, dtype=np.int64) - keys[0]] = codes
        inside = (x >= keys[0]) & (x <= keys[-1])
        return table[np.where(inside, x - keys[0], len(table) - 1)]
    ordered = np.array(keys, dtype=np.int64)
    at = np.minimum(np.searchsorted(ordered, x), len(keys) - 1)
    return np.where(ordered[at] == x, codes[at], k).astype(np.int32)


def _floats(array: pa.Array) -> np.ndarray:
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _filled(array: pa.Array, value: int) -> np.ndarray:
    return np.asarray(array.fill_null(value).to_numpy(zero_copy_only=False))
