"""The privacy statement: one paragraph a lawyer can read."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction

from discreet.artifact.bounds_choice import BoundsChoice
from discreet.artifact.release import Release
from discreet.domain.dates import shown_day
from discreet.domain.unit import Unit
from discreet.models.grouped import Grouped
from discreet.names import shown, shown_label
from discreet.privacy import ApproxDP, MetricDP, PureDP, RenyiDP, ZeroConcentratedDP
from discreet.privacy.metric.per_unit import grid_step
from discreet.rational import plain

#: Beyond this e^epsilon is over 20,000, and the promise says nothing about anybody.
HIGHEST_EPSILON = 10
# Zero-concentrated promises are put into words at this delta.
_DELTA = Fraction(1, 10**6)
# beyond this the conversion would say nothing that anybody needs
_HIGHEST_RHO = 10**5
# three digits, never less than the truth
_UP = Context(prec=3, rounding=ROUND_CEILING)
# labels named in a statement; a longer list is cut
_MOST_LABELS = 12


def statement(release: Release) -> str:
    """Say who is protected, against what, how much, and what was assumed."""
    columns = _listing([f"“{shown(column)}”" for column in release.columns])
    source = "" if release.dataset is None else f" of the data set “{shown(release.dataset)}”"
    return " ".join(
        [
            f"This file describes {columns}{source} by {_held(release)} for {_purpose(release)}.",
            *_sampled(release),
            *_fitted(release),
            *_chosen(release),
            protected_in_words(release),
            f"The promise is {release.guarantee.describe()}: {_how_much(release)}",
            *_weakness(release),
            *parts_in_words(release),
            "It holds against anyone, whatever else they know and whatever they later compute from this file.",
            assumed_in_words(release),
            "The promise covers this file alone: other releases about the same people add to it.",
            *origin_in_words(release),
            *charge_in_words(release),
        ]
    )


def _purpose(release: Release) -> str:
    """Say which model it is, and of how many groups."""
    name = release.model.in_words
    n_groups = len(release.model.groups)
    groups = f" in each of {_count(n_groups)} groups" if n_groups > 1 else " in one group" * n_groups
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name} model{groups}"


def _held(release: Release) -> str:
    if release.samples is None:
        return f"{_count(len(release.totals.names))} noisy totals"
    n = release.samples.count
    return f"{_count(n)} random {'draw' if n == 1 else 'draws'} of the parameters"


def _count(n: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[n] if n < len(words) else str(n)


def _sampled(release: Release) -> list[str]:
    """Say from which distribution samples are, and in which arithmetic they were drawn."""
    if release.samples is None:
        return []
    record = release.sampling_record
    numbers = [f"{name} {_number(value)}" for name, value in record.parameters.items()]
    are, were = ("It is", "It was") if release.samples.count == 1 else ("They are", "They were")
    prior = "" if record.prior is None else f" with prior {record.prior}"
    distribution = f"{are} {'from a ' * record.of_posterior}{record.kind}{prior}"
    said = [f"{distribution} ({', '.join(numbers)})." if numbers else f"{distribution}."]
    said += record.explained(release)
    if record.support is not None:
        ranges = _listing([_range(one) for one in record.support])
        said.append(f"Only parameters within the declared {ranges} can be drawn.")
    said.extend(record.limits)
    if release.in_floating_point:
        said.append(
            f"{were} drawn in floating point, and the promise is for the distribution that this arithmetic "
            "approximates."
        )
    return said


def _fitted(release: Release) -> list[str]:
    """Say that counts of ranges were released beside the totals, and where the ranges come from."""
    if release.fit_check is None:
        return []
    cuts = release.fit_check.cuts
    return [
        f"To check whether the model fits, it also holds noisy counts of the values in {_count(len(cuts) + 1)} ranges "
        f"of the column, cut at {_listing([_number(cut) for cut in cuts])}: cuts that were computed from the noisy "
        "totals alone."
    ]


def _chosen(release: Release) -> list[str]:
    """Say that labels of groups were chosen from the data, and how."""
    made = release.group_selection
    if made is None:
        return []
    whose = "records" if release.unit is None else "people"
    return [
        f"The labels of “{shown(made.column)}” were not declared: those are there of which the number of {whose}, with "
        f"noise of scale {_number(made.scale)}, was {made.threshold} or more. That number has noise of its own, so the "
        "noise of the totals is as if the labels had been declared."
    ]


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def protected_in_words(release: Release) -> str:
    """Say who is protected, and whether how many they are is."""
    if release.unit is not None:
        return _which_person(release, release.unit)
    if release.neighbors == "replace":
        other = "any other record"
        if isinstance(release.guarantee, MetricDP):
            other = "another, the better the closer their values are"
        return (
            "It protects every single record of the table: whatever that record holds, and even if it were replaced by "
            f"{other}. The number of records, {release.records}, is public and not protected."
        )
    return (
        "It protects every single record of the table: whatever that record holds, and whether it is in the table at "
        "all. The number of records is protected too."
    )


def _which_person(release: Release, unit: Unit) -> str:
    rows = f"all their rows (those with the same {shown(unit.column)})"
    person = f"It protects every single person, with {rows}: whatever "
    if release.neighbors == "replace":
        return (
            f"{person}these rows hold, and even if the person were replaced by any other. The number of people, "
            f"{release.records}, is public and not protected."
        )
    return (
        f"{person}these rows hold, and whether the person is in the table at all. The number of people is protected "
        "too."
    )


def whom_of(release: Release) -> str:
    """Say who is protected, in a word."""
    return "record" if release.unit is None else "person"


def _how_much(release: Release) -> str:
    promised, whom = release.guarantee, whom_of(release)
    if isinstance(promised, PureDP):
        return (
            f"no conclusion from this file becomes more than {_factor(promised.epsilon)} times likelier or less likely "
            f"because of one {whom}."
        )
    if isinstance(promised, MetricDP):
        return _how_much_by_distance(release, promised)
    if isinstance(promised, ApproxDP):
        return (
            f"no conclusion from this file becomes more than {_factor(promised.epsilon)} times likelier because of one "
            f"{whom}, up to an extra probability of {plain(promised.delta)}."
        )
    if isinstance(promised, RenyiDP):
        which, bound = (
            ("this order", "epsilon")
            if len(promised.orders) == 1
            else ("each of these orders", "its epsilon")
        )
        said = f"the Rényi divergence of {which} between the files with and without any one change is at most {bound}."
        # one order alone is too little to be put into other words
        in_words = _in_words(_implied_epsilon(promised), whom)
        return said if len(promised.orders) == 1 else f"{said} {in_words}".rstrip()
    assert isinstance(promised, ZeroConcentratedDP)
    between = "between the files with and without any one change"
    divergence = f"the Rényi divergence of order a {between} is at most a times rho"
    return f"{divergence}. {_in_words(_implied_epsilon(promised), whom)}".rstrip()


def _how_much_by_distance(release: Release, promised: MetricDP) -> str:
    """Say what is promised of close values, and what of any two."""
    whom, each, far = whom_of(release), promised.epsilon, promised.metric.diameter
    unit = f" {shown(release.unit_label)}" if release.unit_label else ""
    named = f" ({unit[1:]})" if unit else ""
    return (
        f"if the value of one {whom} changes by one unit{named}, no conclusion from this file becomes more than "
        f"{_factor(each)} times likelier or less likely; by d units, e to the power of {plain(each)} d. Values count "
        f"as rounded, to steps of {_number(grid_step(release.domain))}. Between a {whom} with a value and one without, "
        f"and between any two, d is at most {plain(far)}{unit}, so that no conclusion at all becomes more than "
        f"{_factor(each * far)} times likelier because of one {whom}: values that are close to each other are "
        "protected well, values that are far apart less."
    )


def _in_words(epsilon: Fraction | None, whom: str) -> str:
    """Say what an epsilon at the usual delta means; nothing if it is beyond words."""
    if epsilon is None:
        return ""
    return (
        f"It implies epsilon = {plain(epsilon)} with delta = {plain(_DELTA)}: no conclusion from this file becomes "
        f"more than {_factor(epsilon)} times likelier because of one {whom}, up to an extra probability of "
        f"{plain(_DELTA)}."
    )


def _implied_epsilon(promised: ZeroConcentratedDP | RenyiDP) -> Fraction | None:
    """Return the epsilon of such a promise, rounded up to three digits; None if it is beyond words."""
    largest = promised.rho if isinstance(promised, ZeroConcentratedDP) else promised.epsilons[0]
    if largest > _HIGHEST_RHO:
        return None
    # of the sum alone: the parts could say a little less, after a long computation
    if isinstance(promised, ZeroConcentratedDP):
        alone = ZeroConcentratedDP(promised.rho, neighbors=promised.neighbors)
    else:
        alone = RenyiDP(promised.orders, promised.epsilons, neighbors=promised.neighbors)
    epsilon = alone.to_approx(_DELTA).epsilon
    return Fraction(_UP.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))


def _weakness(release: Release) -> list[str]:
    """Say that a promise is too weak to mean much."""
    promised = release.guarantee.to_neighbors()
    epsilon = promised.budgets().get("epsilon")
    if isinstance(promised, ZeroConcentratedDP) or (
        isinstance(promised, RenyiDP) and len(promised.orders) > 1
    ):
        epsilon = _implied_epsilon(promised) or _HIGHEST_RHO
    weak = epsilon is not None and epsilon > HIGHEST_EPSILON
    if weak and isinstance(release.guarantee, MetricDP):
        return ["Whether a value is near one bound or the other is hardly protected at all."]
    return ["So weak a promise protects hardly anybody."] if weak else []


def charge_in_words(release: Release) -> list[str]:
    """Say that a ledger counts this release."""
    if release.ledger is None:
        return []
    return [
        f"This release was charged to the ledger {shown(release.ledger.id)}, as entry {release.ledger.sequence}."
    ]


def origin_in_words(release: Release) -> list[str]:
    """Say what the file was made from, and what holds for whoever sees that too."""
    origin = release.coarsened
    if origin is None:
        return []
    return [
        f"It was made from the release {shown(origin.release)} by adding noise, without the rows. For whoever sees "
        "that release too, or several files made from it, the promise is that one's and no more: "
        f"{origin.guarantee.describe()}."
    ]


def parts_in_words(release: Release) -> list[str]:
    """Say what each part of the release adds to the promise, if there is more than one."""
    what = {
        "statistics": "the totals",
        "fit_check": "the counts of the fit check",
        "bounds": "the choice of the bounds",
        "groups": "the choice of the groups",
    }
    parts = [
        f"{release.guarantees[one].describe()} for {words}"
        for one, words in what.items()
        if one in release.guarantees
    ]
    if len(parts) < 2:
        return []
    return [f"It has {_count(len(parts))} parts: {', '.join(parts[:-1])}, and {parts[-1]}."]


def _factor(epsilon: Fraction) -> str:
    """Return e^epsilon rounded up, to three digits beyond 1, so that the statement never promises too much."""
    if epsilon > HIGHEST_EPSILON:
        return f"e^{plain(epsilon)}"
    with localcontext(prec=50):
        factor = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        shown = 1 + _UP.create_decimal(factor - 1) if factor < 2 else _UP.create_decimal(factor)
        return f"{shown.normalize():f}"


def assumed_in_words(release: Release) -> str:
    """Say what was declared, and what was done to the rows by it."""
    d = release.domain
    one = (
        ["each person has at most one record (in a text file, one line)"]
        if release.unit is None
        else [
            f"each person has one value of {shown(release.unit.column)!r}",
            *_rows_that_count(release),
            *release.unit.in_words([shown(column) for column in release.columns], dates=d.dates),
        ]
    )
    parts = [*one, "the declarations were made without looking at the data"]
    if d.bounds is not None:
        bought = release.bounds_choice is not None
        bounds = _listing([_range(pair, rounded=bought, dates=d.dates) for pair in d.bounds])
        policy = (
            f"records with a value outside them were counted, with {_middle(release)} in its place"
            if d.outside == "redact"
            else "values outside them were moved to the nearest bound"
        )
        if release.bounds_choice is None:
            parts.append(f"the declared bounds are {bounds}, and {policy}")
        else:
            parts.append(f"{_bought(release.bounds_choice, bounds)}, and {policy}")
    if release.where is not None:
        whose = "people" if release.unit is not None else "records"
        whole = (
            "" if release.records is None else f"; the public number of {whose} is that of the whole table"
        )
        parts.append(
            f"rows count only where {shown(release.where)}, other rows as rows without a value, and how many rows "
            f"that leaves is protected{whole}"
        )
    chosen = _chosen_labels(release)
    parts += [said for said in release.model.assumptions(d) if said != chosen]
    if d.labels is not None:
        parts.append(f"the declared labels are {_some(d.labels)}")
    if d.missing == "none":
        parts.append("the curator declared that no value is missing or undeclared")
    elif d.impute is not None:
        filled = _listing(release.model.imputed_in_words(d))
        parts.append(f"missing and undeclared values were replaced by {filled}")
    else:
        parts.append(release.model.missing_in_words(release.neighbors))
    return f"What was assumed: {'; '.join(parts)}."


def _chosen_labels(release: Release) -> str:
    """Return what a model would say of labels as declared ones that were not."""
    made = release.group_selection
    if made is None:
        return ""
    by = release.model.require(Grouped, "groups were chosen").by
    return next(column.in_words() for column in by if column.name == made.column)


def _rows_that_count(release: Release) -> list[str]:
    """Say how many rows of a person count, if they do not become one record."""
    most = release.model.max_rows
    if most is None:
        return []
    rows = "one row" if most == 1 else f"at most {most} rows"
    return [f"{rows} of each person counted, chosen by a hash whose key was drawn at random for this release"]


def _middle(release: Release) -> str:
    """Say what a redacted value is counted as: 0 on the mapped scale."""
    middles = tuple((low + high) / 2 for low, high in release.domain.bounds or ())
    if release.layout.shift == middles:
        return "the middle of the range"
    return "the middle of the range of what the model sums up"


def _bought(choices: tuple[BoundsChoice, ...], bounds: str) -> str:
    """Say how the bounds were chosen."""
    quantiles = [" and ".join(f"{plain(100 * q)}%" for q in made.quantiles) for made in choices]
    near = quantiles[0] if len(set(quantiles)) == 1 else ", ".join(quantiles)
    whose = "its" if len(choices) == 1 else "their"
    within = list(dict.fromkeys(_range(made.within) for made in choices))
    return (
        f"the bounds {bounds} were chosen from the data, at random near {whose} {near} quantiles within the declared "
        f"{'range' if len(within) == 1 else 'ranges'} {_listing(within)}"
    )


def _range(pair: tuple[Fraction, Fraction], *, rounded: bool = False, dates: bool = False) -> str:
    """Print two bounds: exactly, or to six digits, for a grid has more of them than anybody wants to read."""
    low, high = map(shown_day if dates else _number if rounded else plain, pair)
    return f"[{low}, {high}]"


def _some(labels: tuple[str, ...]) -> str:
    """List labels, the first of them if there are many."""
    some = [shown_label(label) for label in labels[:_MOST_LABELS]]
    return _listing([*some, f"{len(labels) - len(some)} more"] if len(labels) > len(some) else some)


def _listing(items: list[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
