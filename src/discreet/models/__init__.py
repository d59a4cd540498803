"""Structured models: several columns, one record, and how their parameters hang together.

A family describes one column; a model here declares several, and which of them depend on which. It goes through the
same two verbs: ``dc.release(table, model, epsilon=1)`` and ``dc.infer(release)``.
"""

from __future__ import annotations

from discreet.domain.columns import Column, Labels, Numeric, read_columns
from discreet.models.base import Model
from discreet.models.column_model import ColumnModel
from discreet.models.contingency import ContingencyTable
from discreet.models.declared_likelihood import DeclaredLikelihood
from discreet.models.declared_loss import DeclaredLoss
from discreet.models.hidden_markov import HiddenMarkov
from discreet.models.hidden_network import HiddenNetwork
from discreet.models.linear_regression import LinearRegression
from discreet.models.logistic_regression import LogisticRegression
from discreet.models.markov import MarkovChain
from discreet.models.mixture import Mixture
from discreet.models.model_file import load
from discreet.models.naive_bayes import NaiveBayes
from discreet.models.network import BayesianNetwork
from discreet.models.poisson_regression import PoissonRegression
from discreet.models.tables import Table
from discreet.models.trajectories import Trajectories

__all__ = [
    "BayesianNetwork",
    "Column",
    "ColumnModel",
    "ContingencyTable",
    "DeclaredLikelihood",
    "DeclaredLoss",
    "HiddenMarkov",
    "HiddenNetwork",
    "Labels",
    "LinearRegression",
    "LogisticRegression",
    "MarkovChain",
    "Mixture",
    "Model",
    "NaiveBayes",
    "Numeric",
    "PoissonRegression",
    "Table",
    "Trajectories",
    "load",
    "read_columns",
]
