"""Records by name: the closed list of mechanisms that a file may name."""

from __future__ import annotations

from discreet.artifact.records.base import Record
from discreet.artifact.records.finite_posterior import FinitePosteriorRecord
from discreet.artifact.records.foreign import ForeignRecord
from discreet.artifact.records.k_norm import KNormRecord
from discreet.artifact.records.langevin import LangevinRecord
from discreet.artifact.records.noise import GaussianRecord, LaplaceRecord
from discreet.artifact.records.noisy_sgd import NoisySGDRecord
from discreet.artifact.records.posterior_sample import PosteriorSampleRecord
from discreet.artifact.records.private_gibbs import PrivateGibbsRecord
from discreet.artifact.records.private_walks import PrivateAnnealingRecord, PrivateMetropolisRecord
from discreet.artifact.records.renyi_posterior import (
    ConcentratedPosteriorRecord,
    ConcentratedQueryRecord,
    DiffusedPosteriorRecord,
    DiffusedQueryRecord,
    DirectPosteriorRecord,
)
from discreet.artifact.records.table_posterior import TablePosteriorRecord

RECORDS: dict[str, type[Record]] = {
    record.name: record
    for record in (
        LaplaceRecord,
        GaussianRecord,
        KNormRecord,
        PosteriorSampleRecord,
        DirectPosteriorRecord,
        DiffusedPosteriorRecord,
        ConcentratedPosteriorRecord,
        DiffusedQueryRecord,
        ConcentratedQueryRecord,
        LangevinRecord,
        NoisySGDRecord,
        PrivateMetropolisRecord,
        PrivateAnnealingRecord,
        PrivateGibbsRecord,
        TablePosteriorRecord,
        FinitePosteriorRecord,
        ForeignRecord,
    )
}
