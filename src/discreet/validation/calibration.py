"""Is the posterior right? Simulate, release, read, and see where the truth falls."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from discreet.arguments import MOST_DRAWS, Rng, flag, generator, one_of, whole
from discreet.curator.declare import are_bought
from discreet.curator.publish import choose_mechanism
from discreet.domain.declarations import Missing, Neighbors, Outside
from discreet.errors import UsageError
from discreet.families import Likelihood
from discreet.inference.analyst import WEAK
from discreet.inference.engines.registry import EngineName as Engine
from discreet.inference.record_prior import record_prior
from discreet.mechanisms import Mechanism
from discreet.mechanisms.quantile import plan_choices
from discreet.priors import Prior
from discreet.privacy.guarantees import check_neighbors
from discreet.rational import Number, plain
from discreet.validation.progress import progress_bar
from discreet.validation.result import Calibration
from discreet.validation.simulation import Setting, Trial, run_trial
from discreet.validation.workers import NotPortableError, available_cores, run_in_workers

# Seconds of work that are worth starting other processes for: they need about two to import what they need.
_WORTH_WORKERS = 6.0
# Seconds of trials to run before guessing how long the rest will take.
_TASTE = 0.5


def calibrate(
    model: Likelihood,
    *,
    n: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: str | Mechanism = "laplace",
    engine: Engine = "auto",
    prior: Prior | str | None = None,
    bounds: Any = None,
    outside: Outside = "clip",
    missing: Missing = "none",
    neighbors: Neighbors = "replace",
    records: Any = None,
    trials: int = 1000,
    draws: int = 99,
    rng: Rng = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Calibration:
    """Check by simulation that posteriors from such releases are calibrated: as sure as they should be and no surer.

    In each trial a parameter is drawn from the prior and ``n`` records from the family; they are released and the
    release is read, as :func:`release` and :func:`infer` do it. If the posterior is right, the rank of the true
    parameter among the draws is uniform over the trials, and a 90% interval holds it 90% of the time. No real data is
    read and no budget is spent.

    Parameters
    ----------
    model
        The family, such as ``dc.Bernoulli()``.
    n
        Number of records. With ``missing="count"`` the number of missing ones is drawn from inference's own prior,
        which expects few.
    epsilon, delta, rho, mechanism, bounds, outside, missing, neighbors
        As in :func:`release`, except that by default no value is missing. A mechanism that releases posterior samples
        of a family, such as :class:`PosteriorSampling`, will do too.
    engine, prior
        As in :func:`infer`. The prior must be one that the analyst would use: parameters are drawn from it.
    records
        Prior on a private record count (``neighbors="add_remove"``), from which it is drawn: ``(low, high)``, or
        weights on 0, 1, 2, ...; by default uniform on 0, ..., 2n.
    trials
        How many releases to simulate.
    draws
        Posterior draws that each parameter is ranked among. Engines that run chains are run for longer and thinned.
    rng
        A seed or a generator. The result does not depend on the number of workers.
    workers
        How many processes to use. By default one for each core if that saves time, and none otherwise. A family of your
        own must be defined in a module that can be imported, not in a script, to be sent to another process.
    progress
        Whether to show a progress bar on stderr; by default if that is a terminal.

    Returns
    -------
    Calibration
        Whose ``summary()`` is the table, ``plot()`` the picture and ``passed()`` the verdict.

    References
    ----------
    Cook, Gelman and Rubin (2006); Talts et al. (2018); Bernstein and Sheldon (2018), section 5.
    """
    n, trials, draws = (
        whole(n, "n"),
        whole(trials, "trials", most=MOST_DRAWS),
        whole(draws, "draws", most=MOST_DRAWS),
    )
    if progress is not None:
        flag(progress, "progress")
    one_of(outside, "outside", Outside)
    one_of(missing, "missing", Missing)
    workers = None if workers is None else whole(workers, "workers")
    chosen = choose_mechanism(mechanism, epsilon, delta, rho)
    check_neighbors(neighbors)
    if neighbors == "add_remove":
        records = (0, 2 * n) if records is None else records
        record_prior(records)
    elif records is not None:
        raise UsageError("records is public under neighbors='replace', so it takes no prior.")
    setting = Setting(
        model,
        _prior(model, prior, bounds, outside, missing),
        chosen,
        n,
        engine,
        bounds,
        outside,
        missing,
        neighbors,
        records,
        draws,
    )
    first, *seeds = np.random.SeedSequence(generator(rng).integers(2**32, size=8).tolist()).spawn(trials + 1)
    start = perf_counter()
    # a trial that counts for nothing: everything refused is refused here, and it tells whether draws are independent
    setting = replace(setting, chained=not run_trial(setting, first).independent)
    found = _run(setting, seeds, workers, progress)
    return _gather(setting, found, perf_counter() - start)


def _prior(
    model: Likelihood, prior: Prior | str | None, bounds: Any, outside: Outside, missing: Missing
) -> Prior:
    """Return the prior to draw parameters from: the caller's, checked, or the family's weak one."""
    if not isinstance(model, Likelihood):
        raise UsageError(f"model must be a family such as dc.Bernoulli(), got {type(model).__name__}.")
    widest = [how.within for how in plan_choices(bounds, model)] if are_bought(bounds) else bounds
    domain = model.read_domain(bounds=widest, outside=outside, missing=missing)
    return model.read_prior(None if isinstance(prior, str) and prior == WEAK else prior, domain)


def _run(
    setting: Setting, seeds: list[np.random.SeedSequence], workers: int | None, progress: bool | None
) -> list[Trial]:
    """Run every trial, here or in other processes."""
    with progress_bar(len(seeds), progress, "Simulating") as done:
        out: list[Trial] = []
        start = perf_counter()
        # a taste tells how long a trial takes; its results count
        while len(out) < len(seeds) and (workers == 1 or not out or perf_counter() - start < _TASTE):
            out.append(run_trial(setting, seeds[len(out)]))
            done(1)
        each = (perf_counter() - start) / len(out)
        rest = seeds[len(out) :]
        number = available_cores() if workers is None else workers
        if (
            rest
            and sys.executable
            and number > 1
            and (workers is not None or each * len(rest) > _WORTH_WORKERS)
        ):
            try:
                return out + run_in_workers(setting, rest, number, each, done)
            except NotPortableError:
                if workers is not None:
                    raise UsageError(
                        "the model cannot be sent to other processes.",
                        hint="define its class in a module that can be imported, or ask for workers=1",
                    ) from None
        for seed in rest:
            out.append(run_trial(setting, seed))
            done(1)
        return out


def _gather(setting: Setting, trials: list[Trial], seconds: float) -> Calibration:
    """Collect trials into a result."""
    ranks = {name: np.array([trial.ranks[name] for trial in trials]) for name in trials[0].ranks}
    for values in ranks.values():
        values.flags.writeable = False
    few = [trial.effective for trial in trials if not trial.independent and trial.effective < setting.n_draws]
    warnings = ()
    if few:
        warnings = (
            f"in {len(few)} of {len(trials)} trials fewer than {setting.n_draws} draws were effective "
            f"(at least {min(few):.0f}), which by itself makes ranks pile up at both ends",
        )
    count = None if setting.records is None else record_prior(setting.records)
    settings = {
        "model": setting.model.name,
        "constants": {name: _json(value) for name, value in setting.model.constants().items()},
        "prior": str(setting.prior),
        "n": setting.n,
        "guarantee": trials[0].guarantee,
        "engine": setting.engine,
        "bounds": _bounds(setting),
        "outside": setting.outside,
        "missing": setting.missing,
        "neighbors": setting.neighbors,
        "records": None if count is None else [count.low, count.high],
        "draws": setting.n_draws,
    }
    engines = Counter(trial.engine for trial in trials)
    return Calibration(ranks, settings, dict(engines), seconds, warnings)


def _bounds(setting: Setting) -> Any:
    """Return bounds as pairs of decimals, or how they are bought."""
    if setting.bounds is None:
        return None
    if are_bought(setting.bounds):
        return [
            {
                "quantiles": [plain(q) for q in how.quantiles],
                "within": [plain(end) for end in how.within],
                "epsilon": plain(how.epsilon),
            }
            for how in plan_choices(setting.bounds, setting.model)
        ]
    pairs = setting.model.parse_bounds(setting.bounds)
    return None if pairs is None else [[plain(low), plain(high)] for low, high in pairs]


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
