"""The gibbs engine: a central limit for the sums; and ``plain``, the sampler of the paper."""
