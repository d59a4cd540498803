"""PUBLIC: a release in, a posterior out. Nothing here can see rows."""

from discreet.inference.diagnostics import Diagnostics
from discreet.inference.posterior import Posterior

__all__ = ["Diagnostics", "Posterior"]
