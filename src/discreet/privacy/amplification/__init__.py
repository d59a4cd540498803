"""Privacy amplification: what later noise, or forgetting, adds to a guarantee already given.

    coefficients, kernels   how much a Markov kernel forgets
    mixing                  theorem 15: an (epsilon, delta) guarantee after such a kernel
    coupling                theorem 20: more noise on a private output, in Rényi divergence
    iteration               theorem 21: noisy iteration
    descent                 theorem 22: noisy projected gradient descent
    statements              the numbers of these as guarantees, rounded up
    diffusion               the Ornstein-Uhlenbeck mechanism

These compute. What makes a file more private is :func:`discreet.coarsen`, and of noisy iteration the mechanism is
:class:`~discreet.mechanisms.NoisySGD`. The Ornstein-Uhlenbeck process and projected walks release nothing that Gaussian
noise of the same cost does not, so they are kept as theory: docs/explanation/amplification.md has the proofs.

References
----------
Geumlek (2020), chapter 6. Balle, Barthe, Gaboardi and Geumlek (2019), Privacy amplification by mixing and diffusion
mechanisms.
"""

from discreet.privacy.amplification.coupling import (
    coupling_bound,
    iterated_gaussian_rho,
    iterated_laplace_bound,
    iterated_laplace_epsilons,
    laplace_epsilons,
)
from discreet.privacy.amplification.diffusion import OrnsteinUhlenbeck
from discreet.privacy.amplification.divergences import hockey_stick_divergence, renyi_divergence
from discreet.privacy.amplification.iteration import (
    best_split,
    gradient_step_lipschitz,
    iteration_rho,
    path_rho,
)
from discreet.privacy.amplification.markov_kernels import (
    GaussianKernel,
    LaplaceKernel,
    ProjectedGaussianKernel,
    RandomizedResponseKernel,
)
from discreet.privacy.amplification.mixing import (
    Amplified,
    after_dobrushin,
    after_doeblin,
    after_hockey_stick,
    after_kernel,
    after_pure_ultra_mixing,
    after_ultra_mixing,
    amplifications,
    hockey_stick_level,
)
from discreet.privacy.amplification.mixing_coefficients import FiniteKernel, MarkovKernel
from discreet.privacy.amplification.noisy_sgd import SGDCost, shuffled_epsilons
from discreet.privacy.amplification.statements import concentrated, curve

__all__ = [
    "Amplified",
    "FiniteKernel",
    "GaussianKernel",
    "LaplaceKernel",
    "MarkovKernel",
    "OrnsteinUhlenbeck",
    "ProjectedGaussianKernel",
    "RandomizedResponseKernel",
    "SGDCost",
    "after_dobrushin",
    "after_doeblin",
    "after_hockey_stick",
    "after_kernel",
    "after_pure_ultra_mixing",
    "after_ultra_mixing",
    "amplifications",
    "best_split",
    "concentrated",
    "coupling_bound",
    "curve",
    "gradient_step_lipschitz",
    "hockey_stick_divergence",
    "hockey_stick_level",
    "iterated_gaussian_rho",
    "iterated_laplace_bound",
    "iterated_laplace_epsilons",
    "iteration_rho",
    "laplace_epsilons",
    "path_rho",
    "renyi_divergence",
    "shuffled_epsilons",
]
