"""anonymize_baskets: release what people bought or did, so that a few known items find nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.exact import printed as printed_item
from sfumato.core.forms import variant_of_words
from sfumato.core.printed import printed
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.registry import variant_name
from sfumato.core.wording import count, quoted
from sfumato.criteria import KAnonymity
from sfumato.criteria.sets import HKPCoherence, KKMAnonymity, KMAnonymity
from sfumato.engines.memory.table import Kind, enter
from sfumato.engines.tables import store_of
from sfumato.errors import ColumnError, EmptyTable, PolicyError
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.relational import BASKET_SEARCHES
from sfumato.relational.basket_release import BasketRelease, BasketTable, release_baskets
from sfumato.relational.rt_release import LabelledPeople, PeopleRelease, release_people
from sfumato.relational.values import BasketSearch

__all__ = ["anonymize_baskets", "basket_table"]

HELD = (list, tuple, set, frozenset, np.ndarray, pl.Series)  # what a cell with several items may be
BASKET = "basket"  # the column of numbers, where none came in


@cancellable
def anonymize_baskets(
    data: Any,
    *,
    item: str,
    basket: str | None = None,
    k: int | None = None,
    m: int | None = None,
    h: float | None = None,
    p: int | None = None,
    private: Sequence[Any] = (),
    hierarchy: Any = None,
    search: Any = None,
    quasi: str | Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    class_size: int | None = None,
    progress: Progress | None = None,
) -> BasketRelease | PeopleRelease:
    """Blur the items of baskets until whoever knows a few of them finds nobody, and prove it from what is released.

    With `k` and `m`, items are generalised: any m items of a basket are in at least k baskets (k^m-anonymity). With
    `h`, `k` and `p`, items are suppressed: any p public items are in at least k baskets, and no private item in more
    than a share h of these ((h,k,p)-coherence). Only baskets and items leave: other columns do not.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, a dict of lists, or the path of a file. It is never modified.
    item: the column of items, a row for each item of a basket, or a list of items in each row. basket: the column that
        says whose item it is; with lists it may be left out, and each row is a basket. An item twice in a basket counts
        once; baskets without items do not leave.
    k: how many baskets an attacker is left with at least. m: how many items of a basket an attacker knows.
    h: how sure an attacker may become of a private item, as a share. p: how many public items an attacker knows.
        private: the items that nobody shall learn.
    hierarchy: of items, as for `anonymize`; without one, an item is released as it is or as `*`. Of k^m-anonymity only.
    quasi: columns that others may know of the people whose baskets they are, the same in each row of a person. The
        promise is then about both: quasi-identifiers and any m items fit at least k people ((k,k^m)-anonymity).
        hierarchies: of these columns, as for `anonymize`. class_size: how many people are alike in them at least, k
        unless given; items lose less in larger classes.
    search: "apriori" (unless given), "optimal-cut" for small hierarchies, or "mole-suppression" for coherence.
    progress: as for `anonymize`.

    Returns
    -------
    A `BasketRelease`: `data` has the baskets, with new numbers. With `quasi` a `PeopleRelease`: `tables["people"]` and
    `tables["items"]`.

    Raises
    ------
    Infeasible: fewer than k baskets have items. HierarchyError: the hierarchy lacks items.

    >>> import sfumato as sf
    >>> bought = {"item": [list(b) for b in ("abc", "ab", "ac", "bc", "abd", "ad")]}
    >>> dairy = sf.levels({"a": "a", "b": "b", "c": "C", "d": "C"})
    >>> found = sf.anonymize_baskets(bought, item="item", k=2, m=2, hierarchy=dairy)
    >>> found.verification.outcome, sorted(set(found.data["item"]))
    ('holds', ['C', 'a', 'b'])
    """
    promise = _promise(k, m, h, p, private)
    chosen = _search(search, promise)
    recipe = None if hierarchy is None else parse_hierarchy(hierarchy)
    if recipe is not None and isinstance(promise, HKPCoherence):
        raise PolicyError("items are suppressed for coherence, and not generalised", hint="leave hierarchy out")
    names = parameters.column_names(quasi, "quasi")
    if not names:
        if hierarchies or class_size is not None:
            raise PolicyError("hierarchies and class_size are of quasi-identifiers, and there are none")
        return release_baskets(basket_table(data, basket, item), promise, recipe, chosen, progress or quiet)
    if not isinstance(promise, KMAnonymity):
        raise PolicyError("with quasi-identifiers, baskets take k and m", got="h, k and p", allowed="k=5, m=2")
    table, people = _with_people(data, basket, item, names)
    labelled = _labelled(people, str(basket), names, promise.k, class_size, hierarchies, progress or quiet)
    both = KKMAnonymity(promise.k, promise.m)
    return release_people(table, labelled, both, recipe, chosen, progress or quiet)


def _with_people(data: Any, basket: str | None, item: str, quasi: Sequence[str]) -> tuple[BasketTable, pl.DataFrame]:
    """The pairs of people and items, and a row for each person."""
    if basket is None:
        raise PolicyError("it is not said whose items they are", hint="name the column of people in basket")
    if _lists(data, item) is not None:
        raise PolicyError("with quasi-identifiers, each item of a person has a row of its own", got="lists of items")
    table = basket_table(data, basket, item)
    frame = enter(table.original)[0] if isinstance(data, pl.LazyFrame) else enter(data)[0]
    parameters.known_columns(quasi, frame.columns)
    if basket in quasi or item in quasi:
        raise ColumnError("a column of baskets or items is no quasi-identifier", got=quoted([basket, item]))
    frame = frame.with_columns(printed(frame.get_column(basket)))
    people = frame.select(basket, *quasi).unique(maintain_order=True)
    if several := people.height - people.get_column(basket).n_unique():
        what = f"{count(several, 'person has', 'people have')} several values of a quasi-identifier"
        raise ColumnError(what, hint="give each the same in all of their rows")
    return table, people


def _labelled(
    people: pl.DataFrame, basket: str, quasi: Sequence[str], k: int, class_size: int | None, hierarchies: Any,
    progress: Progress,
) -> LabelledPeople:  # fmt: skip
    """The people under labels that at least so many of them share, by Mondrian, with nobody suppressed."""
    from sfumato.verbs import anonymize

    least = k if class_size is None else parameters.whole_number(class_size, "class_size", k)
    made = anonymize(
        people, identifying=[basket], quasi=list(quasi), require=KAnonymity(least), search="mondrian",
        hierarchies=hierarchies, progress=progress,
    )  # fmt: skip
    assert made.rows is not None  # in memory
    frame = made.data.select(printed(made.data.get_column(name)) for name in quasi)
    frame = frame.insert_column(0, people.get_column(basket).gather(made.rows))
    return LabelledPeople(frame, tuple(quasi), float(made.solution.verdict.loss), "mondrian")


def _promise(k: Any, m: Any, h: Any, p: Any, private: Sequence[Any]) -> Any:
    """What is promised, by the parameters that are given."""
    given = {name for name, value in {"k": k, "m": m, "h": h, "p": p}.items() if value is not None}
    if given == {"k", "m"} and not len(private):
        return KMAnonymity(k, m)
    if given == {"h", "k", "p"}:
        items = (private,) if isinstance(private, str) else tuple(map(printed_item, private))
        return HKPCoherence(h, k, p, items)
    got = ", ".join(sorted(given | ({"private"} if len(private) else set()))) or "nothing"
    what = "baskets take k and m for k^m-anonymity, or h, k, p and private for coherence"
    raise PolicyError(what, got=got, allowed="k=5, m=2")


def _search(spec: Any, promise: Any) -> BasketSearch:
    """The search that was named, or the first that keeps the promise."""
    model = variant_name(type(promise).__name__)
    able = [name for name in BASKET_SEARCHES if BASKET_SEARCHES[name].example.model == model]
    found: BasketSearch = variant_of_words(BASKET_SEARCHES, "search of baskets", able[0] if spec is None else spec)
    if found.model != model:
        own = BASKET_SEARCHES.name_of(found)
        raise PolicyError(f"{own} keeps {found.model}, and {model} is asked for", allowed=", ".join(able))
    return found


def basket_table(data: Any, basket: str | None, item: str) -> BasketTable:
    """The pairs of baskets and items of a table of any kind."""
    parameters.column_name(item, "item")
    if basket is not None:
        parameters.column_name(basket, "basket")
        if basket == item:
            raise ColumnError(f'"{item}" cannot be the column of baskets and of items')
    if store_of(data) is not None:
        raise PolicyError("baskets are read into memory", hint="read the table, and pass the frame")
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if (lists := _lists(data, item)) is not None:
        return _from_lists(data, lists, basket, item)
    frame, kind = enter(data)
    parameters.known_columns([item] if basket is None else [item, basket], frame.columns)
    if basket is None:
        raise PolicyError("it is not said whose items they are", hint="name the column of baskets in basket")
    return BasketTable(frame.select(basket, item), basket, item, kind, data)


def _lists(data: Any, item: str) -> list[Any] | None:
    """The cells of a column that has several items in each; None where it does not."""
    if isinstance(data, str | Path | pl.LazyFrame) or not hasattr(data, "__getitem__"):
        return None
    try:
        column = data[item]
    except Exception:  # no table, or without this column, which is said elsewhere
        return None
    convert = getattr(column, "to_list", None) or getattr(column, "to_pylist", None)
    cells = column if convert is None else convert()
    return list(cells) if isinstance(cells, list | tuple) and any(isinstance(cell, HELD) for cell in cells) else None


def _from_lists(data: Any, lists: list[Any], basket: str | None, item: str) -> BasketTable:
    """A row for each item of lists; without a column of baskets each list is a basket."""
    known = [cell for cell in lists if cell is not None]
    if not all(isinstance(cell, HELD) for cell in known):
        raise ColumnError(f'"{item}" has several items in some rows, and one in others')
    items = [one for cell in known for one in cell]
    if not items:
        raise EmptyTable("no basket has an item")
    own = basket or (BASKET if item != BASKET else "number")
    owner = pl.Series(own, range(len(lists)), pl.Int64) if basket is None else _column(data, basket)
    if len(owner) != len(lists):
        raise ColumnError("the columns are not equally long")
    size = [0 if cell is None else len(cell) for cell in lists]
    owner = owner.gather(np.repeat(np.arange(len(lists)), size))
    rows = pl.DataFrame([owner, enter({item: items})[0].get_column(item)])
    return BasketTable(rows, own, item, _kind(data), data)


def _column(data: Any, name: str) -> pl.Series:
    """A column of a frame that has columns of lists, too."""
    try:
        one = {name: data[name]} if isinstance(data, Mapping) else data[[name]] if _kind(data) == "pandas" else None
        one = data.select([name]) if one is None else one
    except Exception:  # each library has its own
        raise ColumnError(f'the table has no column "{name}"') from None
    return enter(one)[0].get_column(name)


def _kind(data: Any) -> Kind:
    """What kind of frame something is."""
    if isinstance(data, Mapping):
        return "dict"
    if nw.dependencies.is_pandas_dataframe(data):
        return "pandas"
    return "arrow" if nw.dependencies.is_pyarrow_table(data) else "polars"
