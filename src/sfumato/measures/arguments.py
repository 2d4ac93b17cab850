"""Arguments: what measures and attacks have in common, as their annotations declare it, with a line of help."""

from __future__ import annotations

from sfumato.core.parameters import Column, ColumnNames, Real, Share, Whole, Written, YesNo

TABLE = Written("table", help="a frame, or the path of a file")
ORIGINAL = Written("table", help="the table that the release was made of")
RELEASED = Written("table", help="the released table")
QUASI = ColumnNames("quasi-identifier", help="the columns that others may know")
SENSITIVE = Column("sensitive column", help="the column that is to stay unknown")
SENSITIVES = ColumnNames("sensitive column", help="the columns that are to stay unknown")
SOME_COLUMNS = ColumnNames(help="the columns that are looked at; all that fit without any")
COLUMN = Column(help="a column of the table")
TARGET = Column(help="the column that is predicted")
HIERARCHIES = Written("mapping", "hierarchies", help="of each column, the hierarchy that explains its labels")
ROWS = Written(help="which rows of the original were released; found where it is left out")
KEY = Written("columns", "column", help="columns that tell which row is which in both tables")
WILDCARD = YesNo(help='whether a missing value, and "*", matches any value')
SEED = Whole(0, help="of the random numbers")
LISTED = Whole(0, help="how many row numbers are named")
ATTEMPTS = Whole(help="how many are tried")
THRESHOLD = Share(help="the risk above which a record is at risk")
FRACTION = Share(above=True, help="the share of the population that is in the table")
SHARE = Share()
COUNT = Whole()
LIMIT = Real()
