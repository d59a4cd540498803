"""A query of ours, translated from DuckDB's syntax tree into SQL that PostgreSQL runs with the same result.

Everything that is computed from rows is written once, as narwhals expressions, and narwhals writes them for DuckDB.
DuckDB hands back the tree of such a query, and here each node of it gets its PostgreSQL form. The list of nodes and
functions is closed: what is not on it is refused, so that no expression is translated by its name alone.

Where the two differ:

* PostgreSQL raises where a product of two numbers that are not zero rounds to zero ("out of range: underflow"), which
  one record could bring about. A factor below 1e-140 in size makes the product 0 instead. No result changes: the
  constants of a query lie between 1e-100 and 1e100 in size (others are refused), and a value is multiplied by one slope
  and by 2^24 on its way. So what is left out is below 1e-30, and floor(t * 2^24 + 1/2) is the same with it and without.
* Sums are of whole numbers, as ``bigint``, and therefore ``numeric`` and exact.
* There is no cast from truth values to ``bigint``, so it goes through ``integer``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.data.sources.results import literal, quoted
from discreet.errors import UsageError

#: Columns of a table by name, and whether they hold truth values.
Columns = dict[str, bool]

_TYPES = {
    "BIGINT": "bigint",
    "INTEGER": "integer",
    "HUGEINT": "numeric",
    "DOUBLE": "double precision",
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
}
_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
# functions of the same name and meaning in both, with the numbers of their arguments
_FUNCTIONS = {
    "floor": (1,),
    "abs": (1,),
    "greatest": (2,),
    "least": (2,),
    "sha256": (1,),
    "octet_length": (1,),
}
_AGGREGATES = ("sum", "max", "min", "count", "count_star", "sum_no_overflow", "bool_or")
# functions of text and bytes that have another form; hashes are compared as bytes, which have the order of their text
_RENAMED = {"encode": "convert_to({}, 'UTF8')", "unhex": "decode({}, 'hex')"}
_OPERATORS = {
    "OPERATOR_IS_NULL": "({} IS NULL)",
    "OPERATOR_IS_NOT_NULL": "({} IS NOT NULL)",
    "OPERATOR_NOT": "(NOT {})",
}
_RANKS = ("row_number", "rank")
_JOINS = {"LEFT": "LEFT JOIN", "INNER": "JOIN"}
# constants beyond this size, or below its inverse, are refused; factors below the smallest one make a product 0
_LARGEST, _SMALLEST = 1e100, 1e-140


@dataclass(frozen=True)
class _Sql:
    """A piece of SQL; whether it is a truth value, and its value if it is a number that is the same for all rows."""

    text: str
    truth: bool = False
    constant: float | None = None


def translate(tree: Mapping[str, Any], tables: Mapping[str, Columns]) -> str:
    """Return the text of a query, without the tables that it reads by their names."""
    (statement,) = tree["statements"]
    text, _ = _Select(dict(tables)).select(statement["node"])
    return text


class _Select:
    """One query; ``tables`` are those that it may read."""

    def __init__(self, tables: dict[str, Columns]) -> None:
        self._tables = tables
        self._scope: dict[str, Columns] = {}

    def select(self, node: Mapping[str, Any]) -> tuple[str, Columns]:
        """Return the text of a SELECT and the columns that it gives."""
        if node["type"] != "SELECT_NODE" or any(
            node.get(part) for part in ("modifiers", "having", "qualify", "sample")
        ):
            raise _unknown("a query")
        steps = []
        for step in node["cte_map"]["map"]:
            text, columns = _Select(self._tables).select(step["value"]["query_node"])
            self._tables[step["key"]] = columns
            steps.append(f"{quoted(step['key'])} AS NOT MATERIALIZED ({text})")
        source = self._source(node["from_table"])
        chosen, columns = self._chosen(node["select_list"])
        text = f"SELECT {', '.join(chosen)} FROM {source}"
        if node.get("where_clause"):
            text += f" WHERE {self._expression(node['where_clause']).text}"
        if node.get("group_expressions"):
            text += f" GROUP BY {', '.join(one.text for one in self._all(node['group_expressions']))}"
        elif node.get("aggregate_handling") == "FORCE_AGGREGATES" and not all(
            _aggregates(one) for one in node["select_list"]
        ):
            raise _unknown("a grouping")
        return (f"WITH {', '.join(steps)} {text}" if steps else text), columns

    def _source(self, node: Mapping[str, Any]) -> str:
        if node["type"] == "BASE_TABLE":
            name = node["table_name"]
            if name not in self._tables:
                raise _unknown("a table")
            alias = node["alias"] or name
            self._scope[alias] = self._tables[name]
            return f"{quoted(name)} AS {quoted(alias)}"
        if node["type"] == "SUBQUERY":
            text, columns = _Select(dict(self._tables)).select(node["subquery"]["node"])
            self._scope[node["alias"]] = columns
            return f"({text}) AS {quoted(node['alias'])}"
        if node["type"] == "JOIN" and node["ref_type"] == "REGULAR" and node["join_type"] in _JOINS:
            left, right = self._source(node["left"]), self._source(node["right"])
            condition = self._expression(node["condition"]).text
            return f"{left} {_JOINS[node['join_type']]} {right} ON {condition}"
        raise _unknown(f"a source of type {node['type']}")

    def _chosen(self, nodes: Sequence[Mapping[str, Any]]) -> tuple[list[str], Columns]:
        chosen: list[str] = []
        columns: Columns = {}
        for node in nodes:
            if node["class"] == "STAR":
                given = [pair for held in self._scope.values() for pair in held.items()]
                chosen += [quoted(name) for name, _ in given]
                columns |= dict(given)
                continue
            made = self._expression(node)
            name = node["alias"] or (node["column_names"][-1] if node["class"] == "COLUMN_REF" else "")
            if not name:
                raise _unknown("a column without a name")
            chosen.append(f"{made.text} AS {quoted(name)}")
            columns[name] = made.truth
        return chosen, columns

    def _all(self, nodes: Sequence[Mapping[str, Any]]) -> list[_Sql]:
        return [self._expression(node) for node in nodes]

    def _expression(self, node: Mapping[str, Any]) -> _Sql:
        made = getattr(self, f"_of_{node['class'].lower()}", None)
        if made is None:
            raise _unknown(f"an expression of class {node['class']}")
        return made(node)

    def _of_column_ref(self, node: Mapping[str, Any]) -> _Sql:
        *table, column = node["column_names"]
        held = [self._scope[table[0]]] if table else self._scope.values()
        truth = any(columns.get(column, False) for columns in held)
        return _Sql(".".join(map(quoted, node["column_names"])), truth=truth)

    def _of_constant(self, node: Mapping[str, Any]) -> _Sql:
        kind, text = _literal(node)
        if kind == "null":
            return _Sql("NULL")
        if kind == "truth":
            return _Sql(text.lower(), truth=True)
        if kind == "text":
            return _Sql(literal(text))
        return _number(text, text)

    def _of_cast(self, node: Mapping[str, Any]) -> _Sql:
        target = _TYPES.get(_cast_type(node))
        if target is None or node["try_cast"]:
            raise _unknown(f"a cast to {_cast_type(node)}")
        child = self._expression(node["child"])
        if node["child"]["class"] == "CONSTANT" and target == "double precision" and child.text != "NULL":
            _, text = _literal(node["child"])
            return _number(text, f"CAST({literal(text)} AS double precision)")
        inner = f"CAST({child.text} AS integer)" if child.truth and target != "boolean" else child.text
        return _Sql(f"CAST({inner} AS {target})", truth=target == "boolean", constant=child.constant)

    def _of_comparison(self, node: Mapping[str, Any]) -> _Sql:
        operator = _COMPARISONS.get(node["type"])
        if operator is None:
            raise _unknown(f"a comparison of type {node['type']}")
        left, right = self._expression(node["left"]), self._expression(node["right"])
        return _Sql(f"({left.text} {operator} {right.text})", truth=True)

    def _of_conjunction(self, node: Mapping[str, Any]) -> _Sql:
        word = {"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}[node["type"]]
        return _Sql(f"({word.join(one.text for one in self._all(node['children']))})", truth=True)

    def _of_operator(self, node: Mapping[str, Any]) -> _Sql:
        children = self._all(node["children"])
        if node["type"] in _OPERATORS:
            return _Sql(_OPERATORS[node["type"]].format(children[0].text), truth=True)
        if node["type"] == "OPERATOR_COALESCE":
            return _Sql(f"COALESCE({', '.join(one.text for one in children)})", truth=children[0].truth)
        raise _unknown(f"an operator of type {node['type']}")

    def _of_case(self, node: Mapping[str, Any]) -> _Sql:
        text, truth = "CASE", False
        for check in node["case_checks"]:
            then = self._expression(check["then_expr"])
            text += f" WHEN {self._expression(check['when_expr']).text} THEN {then.text}"
            truth = truth or then.truth
        last = self._expression(node["else_expr"])
        return _Sql(f"(CASE{text[4:]} ELSE {last.text} END)", truth=truth or last.truth)

    def _of_function(self, node: Mapping[str, Any]) -> _Sql:
        name, arguments = node["function_name"], self._all(_arguments(node))
        if node.get("distinct"):
            raise _unknown(f"{name} of a part")
        if name in _AGGREGATES:
            part = f" FILTER (WHERE {self._expression(node['filter']).text})" if node.get("filter") else ""
            return _Sql(_aggregate(name, arguments) + part, truth=name == "bool_or")
        if name in ("+", "-", "||") and len(arguments) == 2:
            return _Sql(f"({arguments[0].text} {name} {arguments[1].text})")
        if name == "-" and len(arguments) == 1:
            value = arguments[0].constant
            return _Sql(f"(-{arguments[0].text})", constant=None if value is None else -value)
        if name == "*":
            return _product(*arguments)
        if name == "/":
            over, under = (f"CAST({one.text} AS double precision)" for one in arguments)
            return _Sql(f"({over} / NULLIF({under}, 0))")
        if name == "//":
            return _Sql(f"div({', '.join(f'CAST({one.text} AS numeric)' for one in arguments)})")
        if name in _RENAMED and len(arguments) == 1:
            return _Sql(_RENAMED[name].format(arguments[0].text))
        if name == "isnan":
            return _Sql(f"({arguments[0].text} = CAST('NaN' AS double precision))", truth=True)
        if len(arguments) not in _FUNCTIONS.get(name, ()):
            raise _unknown(f"a function {name}")
        return _Sql(f"{name}({', '.join(one.text for one in arguments)})")

    def _of_window(self, node: Mapping[str, Any]) -> _Sql:
        name, arguments = node["function_name"], self._all(_arguments(node))
        if node.get("filter_expr") or node.get("distinct") or node.get("ignore_nulls"):
            raise _unknown(f"{name} of a part")
        if name in _RANKS:
            text = f"{name}()"
        elif name in _AGGREGATES and not node.get("orders"):
            text = _aggregate(name, arguments)
        else:
            raise _unknown(f"a window of {name}")
        parts = []
        if node.get("partitions"):
            parts.append(f"PARTITION BY {', '.join(one.text for one in self._all(node['partitions']))}")
        if node.get("orders"):
            parts.append(f"ORDER BY {', '.join(map(self._ordered, node['orders']))}")
        return _Sql(f"{text} OVER ({' '.join(parts)})")

    def _ordered(self, node: Mapping[str, Any]) -> str:
        down = " DESC" if node["type"] == "DESCENDING" else ""
        # DuckDB's own default is to have nulls last
        nulls = "FIRST" if node["null_order"] == "NULLS_FIRST" else "LAST"
        return f"{self._expression(node['expression']).text}{down} NULLS {nulls}"


def _product(one: _Sql, other: _Sql) -> _Sql:
    """Multiply without an underflow that raises."""
    plain = f"({one.text} * {other.text})"
    tested = [factor for factor in (one, other) if factor.constant is None]
    if len(tested) < 2 and any(abs(f.constant) >= 1 for f in (one, other) if f.constant is not None):
        return _Sql(plain)
    small = " OR ".join(dict.fromkeys(f"abs({factor.text}) < {_SMALLEST!r}" for factor in tested))
    return _Sql(f"(CASE WHEN {small} THEN 0 ELSE {plain} END)") if small else _Sql(plain)


def _aggregate(name: str, arguments: Sequence[_Sql]) -> str:
    if name.startswith("count"):
        return f"count({arguments[0].text if arguments else '*'})"
    (one,) = arguments
    if name.startswith("sum"):
        whole = f"CAST({one.text} AS integer)" if one.truth else one.text
        return f"sum(CAST({whole} AS bigint))"
    return f"{name}({one.text})"


def _aggregates(node: Any) -> bool:
    """Tell whether an expression is an aggregate, or made of them."""
    if isinstance(node, list):
        return any(map(_aggregates, node))
    if not isinstance(node, Mapping):
        return False
    return node.get("function_name") in _AGGREGATES or any(map(_aggregates, node.values()))


def _arguments(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    # DuckDB 1 has children, DuckDB 2 arguments that may have names
    if "arguments" in node:
        return [one["expression"] for one in node["arguments"]]
    return node["children"]


def _cast_type(node: Mapping[str, Any]) -> str:
    return node["type_expr"]["type_name"] if "type_expr" in node else node["cast_type"]["id"]


def _literal(node: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether a constant is null, text, a truth value or a number, and its text."""
    if "literal" in node:
        kind, text = node["literal"]["kind"], node["literal"].get("text", "")
        known = {"NULL_LITERAL": "null", "STRING": "text", "INTEGER": "number", "NUMERIC": "number"}
        if kind not in known and kind.startswith("BOOL"):
            return "truth", str(node["literal"].get("value", text))
        if kind not in known:
            raise _unknown(f"a constant of kind {kind}")
        return known[kind], text
    value = node["value"]
    kind, held = value["type"]["id"], value.get("value")
    if value["is_null"]:
        return "null", ""
    if kind == "DECIMAL":
        scale = value["type"]["type_info"]["scale"]
        return "number", f"{held}e-{scale}"
    if kind in ("INTEGER", "BIGINT", "DOUBLE", "HUGEINT", "TINYINT", "SMALLINT"):
        return "number", repr(held)
    return ("truth", str(held)) if kind == "BOOLEAN" else ("text", str(held))


def _number(text: str, sql: str) -> _Sql:
    value = float(text)
    if value and math.isfinite(value) and not 1 / _LARGEST <= abs(value) <= _LARGEST:
        raise UsageError(
            "PostgreSQL does not compute with bounds as wide or as narrow as these.",
            hint="bounds, and the distance between them, are between 1e-100 and 1e100 in size",
        )
    return _Sql(sql, constant=value)


def _unknown(what: str) -> UsageError:
    return UsageError(
        f"this statistic is not computed inside PostgreSQL: its query has {what}.",
        hint="export the columns to a Parquet file, and give its path",
    )
