"""Queries: private questions, one file each."""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.dp.queries.approximate_bounds import ApproximateBounds
from sfumato.dp.queries.contingency_table import ContingencyTable
from sfumato.dp.queries.count import Count
from sfumato.dp.queries.covariance import Covariance
from sfumato.dp.queries.decision_tree import DecisionTree
from sfumato.dp.queries.distinct_count import DistinctCount
from sfumato.dp.queries.frequent_keys import FrequentKeys
from sfumato.dp.queries.grouped import Grouped
from sfumato.dp.queries.grouped_mean import GroupedMean
from sfumato.dp.queries.linear_regression import LinearRegression
from sfumato.dp.queries.logistic_regression import LogisticRegression
from sfumato.dp.queries.mean import Mean
from sfumato.dp.queries.naive_bayes import NaiveBayes
from sfumato.dp.queries.quantile import Quantile
from sfumato.dp.queries.query import Query
from sfumato.dp.queries.several import Several
from sfumato.dp.queries.sum import Sum
from sfumato.dp.queries.top import Top
from sfumato.dp.queries.variance import StandardDeviation, Variance

QUERIES: Registry[Query] = Registry(
    "queries",
    "query",
    (Query,),
    {
        "count": Variant(Count, example=Count(), cite="Dwork et al. 2006"),
        "distinct-count": Variant(DistinctCount, example=DistinctCount("town"), cite="Dwork et al. 2006"),
        "sum": Variant(Sum, example=Sum("age"), cite="Dwork et al. 2006"),
        "mean": Variant(Mean, example=Mean("age"), cite="Dwork et al. 2006"),
        "variance": Variant(Variance, example=Variance("age"), cite="Dwork et al. 2006"),
        "standard-deviation": Variant(StandardDeviation, example=StandardDeviation("age"), cite="Dwork et al. 2006"),
        "covariance": Variant(Covariance, example=Covariance("age", "pay"), cite="Dwork et al. 2006"),
        "grouped-mean": Variant(GroupedMean, example=GroupedMean("age", "sex"), cite="Dwork et al. 2006"),
        "quantile": Variant(Quantile, example=Quantile("age"), cite="Smith 2011"),
        "grouped": Variant(Grouped, example=Grouped(Quantile("age"), "sex"), cite="McSherry 2009"),
        "frequent-keys": Variant(FrequentKeys, example=FrequentKeys("town"), cite="Korolova et al. 2009"),
        "top": Variant(Top, example=Top("town"), cite="Durfee and Rogers 2019"),
        "linear-regression": Variant(
            LinearRegression, example=LinearRegression("pay", ["age", "sex"]), cite="Sheffet 2017"
        ),
        "logistic-regression": Variant(
            LogisticRegression, example=LogisticRegression("sex", ["age", "pay"]), cite="Bassily et al. 2014"
        ),
        "naive-bayes": Variant(NaiveBayes, example=NaiveBayes("town", ["age", "sex"]), cite="Vaidya et al. 2013"),
        "decision-tree": Variant(
            DecisionTree, example=DecisionTree("town", ["age", "sex"]), cite="Friedman and Schuster 2010"
        ),
        "approximate-bounds": Variant(ApproximateBounds, example=ApproximateBounds("pay"), cite="Wilson et al. 2020"),
        "several": Variant(Several, example=Several((Count(), Mean("age", "sex = F"))), cite="Dwork et al. 2006"),
        "contingency-table": Variant(ContingencyTable, example=ContingencyTable("sex"), cite="Dwork et al. 2006"),
    },
)
