"""PRIVATE: mechanisms turn exact totals, or records, into a release. The release is the only exit.

``dc.release(..., mechanism=dc.mechanisms.PosteriorSampling("beta:1,1", epsilon=1, support=(0.01, 0.99)))``: an object
holds its own budget. Noise goes by its name, ``mechanism="laplace"`` or ``"gaussian"``, with the budget beside it.
"""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.finite_posterior import FinitePosterior
from discreet.mechanisms.k_norm import KNorm
from discreet.mechanisms.langevin import Langevin
from discreet.mechanisms.noise import Gaussian, Laplace
from discreet.mechanisms.noisy_sgd import NoisySGD
from discreet.mechanisms.posterior_sampling import PosteriorSampling
from discreet.mechanisms.private_annealing import PrivateAnnealing
from discreet.mechanisms.private_gibbs import PrivateGibbs
from discreet.mechanisms.private_metropolis import PrivateMetropolis
from discreet.mechanisms.quantile import PrivateQuantiles
from discreet.mechanisms.renyi_posterior import RenyiPosterior, StatisticalQuery
from discreet.mechanisms.table_posterior import TablePosterior
from discreet.privacy.costs.chain_updates import WorstCaseRejection

__all__ = [
    "FinitePosterior",
    "Gaussian",
    "KNorm",
    "Langevin",
    "Laplace",
    "Mechanism",
    "NoisySGD",
    "PosteriorSampling",
    "PrivateAnnealing",
    "PrivateGibbs",
    "PrivateMetropolis",
    "PrivateQuantiles",
    "RenyiPosterior",
    "StatisticalQuery",
    "TablePosterior",
    "WorstCaseRejection",
]
