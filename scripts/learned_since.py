"""What functions that were there before have learned since: their code for function that the revision did not have.

A function that is asked for something new grows by it: an option, the branch that it takes, and what is handed on. Such
code is told by its words, those of :data:`WORDS`. Every word belongs to a capability that revision 00834e8 did not have
(whole people, groups, missing values that are expected, checks of fit, ...); names that only replaced other names are
not among them. A word that the function's predecessor had already tells nothing.

Counted are, each with all that is inside of it,

- parameters that have such a word;
- branches and loops whose condition has one;
- arguments and entries of lists and dictionaries that have one, and other statements that do;
- names that are imported, and constants of a module, that only such code and new functions use.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

WORDS = frozenset(
    word
    for capability in (
        # whole people
        "unit units Unit Units PerUnit NullUnit null_unit no_unit per_unit unit_rules unit_label name_unit",
        "check_unit max_rows row_bounds weight_bounds last_by PeopleRows PeopleSource MemberRows MemberSource",
        "KEY object_keys key_array",
        # groups, partial pooling, several releases at once
        "by groups pool partitions partition_from with_partition GroupSelection group_selection read_split",
        "max_groups group_summary Posteriors GroupPosteriors same_table",
        # missing values, expected and counted
        "MissingPrior missing_prior MISSING_WEIGHT PRESENT_WEIGHT PRESENCE presence presence_array",
        "object_presence refuse_missing read_missing MissingShare LABEL_WORDS imputed_in_words",
        # whether the model fits; what a reader should know first
        "fit_check FitCheck FitResult mixing_warnings headline more_warnings",
        # dates, bins and labels in a summary
        "read_dated is_date dates dated shown_day day days days_sql days_in_polars days_of_array date_axis",
        "bins Bins Histogram LabelRow axes_of",
        # rows of a query, a filter, a folder, a database server, a cluster of machines
        "query Query QuerySource where read_where takes_where FilteredRows FilteredSource in_duckdb",
        "ServerAddress is_address DatabaseRows FileRows rows_in open_files names_files LineFiles open_folder",
        "parquet_files engine_of is_planning",
        # how long something may take, and how far it is
        "spend check_patience progress_bar",
        # what a release would do, plans, audits, a page to look at
        "explain plan_choices planned forecast studio",
        # what a file says of itself, where its numbers come from, what was coarsened
        "About load_about encode_about decode_about said_of_itself Origin check_origin coarsen coarsened",
        # budgets by distance; evidence of an annealed path; failure probabilities of samplers
        "epsilon_per_unit by_distance evidence evidence_epsilon evidence_sensitivity delta",
        "failure_probability tries_for least_acceptance",
        # predictions of rows
        "row_questions RowQuestions public_rows distinct_rows",
        # limits, checksums and locks of files; misspelled names
        "LARGEST_FILE has_checksum LedgerFile Force did_you_mean check_most",
        # charges for parts of a data set
        "part_of charged_before",
        # families and models that were not there
        "NegativeBinomial MeanDispersion HiddenNetwork DeclaredLikelihood PoissonRegression Trajectories",
    )
    for word in capability.split()
)

Span = tuple[tuple[int, int], tuple[int, int]]


def learned(function: ast.FunctionDef | ast.AsyncFunctionDef, before: set[str]) -> list[Span]:
    """Return where a function has learned something; ``before`` are the tokens of its predecessor."""
    # a variable of the function's own has its name by chance
    own = {
        one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    new = set(WORDS) - _words(before) - own
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [_span(one) for one in given if _names(one) & new] + [
        span for statement in function.body for span in _of(statement, new)
    ]


def learned_beside(tree: ast.Module, used: set[str], before: set[str]) -> list[Span]:
    """Return names that a module imports, and its constants, that are new and not ``used`` by what it had before."""
    known = _words(used | before)
    spans = []
    for node in [*tree.body, *(inner for one in tree.body if isinstance(one, ast.If) for inner in one.body)]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            fresh = [one for one in node.names if (one.asname or one.name).split(".")[0] not in known]
            spans += [_span(node)] if len(fresh) == len(node.names) else map(_span, fresh)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not any(_names(one) & known for one in targets):
                spans.append(_span(node))
    return spans


def _of(statement: ast.stmt, new: set[str]) -> Iterator[Span]:
    """Yield what a statement has learned."""
    inner = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt | ast.ExceptHandler)]
    condition = getattr(statement, "test", getattr(statement, "iter", None))
    if inner and isinstance(condition, ast.expr) and _names(condition) & new:
        yield _span(statement)
    elif inner:
        for one in inner:
            if isinstance(one, ast.ExceptHandler):
                for own in one.body:
                    yield from _of(own, new)
            else:
                yield from _of(one, new)
    else:
        yield from _smallest(statement, new)


def _smallest(node: ast.AST, new: set[str]) -> Iterator[Span]:
    """Yield the smallest arguments and entries of displays with a new word, or the whole if one is outside of them."""
    if not _names(node) & new:
        return
    parts: list[list[ast.AST]] = []
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            parts += [[inside] for inside in (*one.args, *one.keywords)]
        elif isinstance(one, ast.List | ast.Tuple | ast.Set):
            parts += [[inside] for inside in one.elts]
        elif isinstance(one, ast.Dict):
            parts += [
                [value] if key is None else [key, value]
                for key, value in zip(one.keys, one.values, strict=True)
            ]
    named = [part for part in parts if any(_names(one) & new for one in part)]
    inside = {id(one) for part in named for top in part for one in ast.walk(top)}
    if any(_own(one) in new for one in ast.walk(node) if id(one) not in inside):
        yield _span(node)
        return
    for part in named:
        # those that hold no smaller one
        if not any(other is not part and {id(one) for one in other} <= _ids(part) for other in named):
            yield _span(part[0])[0], _span(part[-1])[1]


def _ids(part: list[ast.AST]) -> set[int]:
    return {id(one) for top in part for one in ast.walk(top)}


def _names(node: ast.AST) -> set[str]:
    return {_own(one) for one in ast.walk(node)}


def _words(tokens: set[str]) -> set[str]:
    """Return the words of tokens, also those inside of texts."""
    return {word for token in tokens for word in re.findall(r"[A-Za-z_]\w*", token)}


def _own(node: ast.AST) -> str:
    """Return the name that a node has of its own; none of NumPy's."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
        return ""
    for field in ("id", "attr", "arg"):
        found = getattr(node, field, None)
        if isinstance(found, str):
            return found
    return ""


def _span(node: ast.AST) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # pyright: ignore
