"""Private models behind scikit-learn's interface: ``fit``, ``predict``, ``predict_proba``."""

from discreet.sklearn.private_naive_bayes import PrivateNaiveBayes
from discreet.sklearn.private_regressions import PrivateLinearRegression, PrivateLogisticRegression

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivateNaiveBayes"]
