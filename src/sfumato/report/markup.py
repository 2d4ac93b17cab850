"""HTML that is safe by construction: every text is escaped unless it is already markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_VOID = frozenset({"meta", "br", "hr"})
# Controls and lone surrogates have no place in a document, and the latter cannot be written as UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as HTML: markup as it is, anything else escaped.

    >>> text("a < b")
    'a &lt; b'
    """
    return value if isinstance(value, Markup) else Markup(escape(clean(value)))


def clean(value: object) -> str:
    """A value as text without characters that no document may hold."""
    return _UNPRINTABLE.sub("\ufffd", str(value))


def tag(element: str, *children: object, **attributes: object) -> Markup:
    """An element; `class_` is written `class`, `aria_label` is written `aria-label`, None is left out.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(clean(value))}"'  # markup too: it has no meaning in a value
        for name, value in attributes.items()
        if value is not None
    )
    start = f"<{element}{named}>"
    return Markup(start) if element in _VOID else Markup(f"{start}{join(children)}</{element}>")


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after the other, None left out."""
    return Markup(between.join(text(part) for part in parts if part is not None))


def name(column: object) -> Markup:
    """A column's name, set apart from the text around it whichever way it is written."""
    return tag("bdi", column, class_="name")


def names(columns: Sequence[object], most: int = 8) -> Markup:
    """Columns in a row of words, the last ones counted where there are many.

    >>> names(["age", "sex"])
    '<bdi class="name">age</bdi> and <bdi class="name">sex</bdi>'
    """
    shown = [name(column) for column in columns[: most if len(columns) > most + 1 else None]]
    if len(shown) < len(columns):
        return join([join(shown, ", "), f" and {len(columns) - len(shown)} more"])
    return join([join(shown[:-1], ", "), shown[-1]], " and ") if len(shown) > 1 else join(shown)


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str, class_: str | None = None) -> Markup:
    """A table whose first column names the row; the caption is for those who hear the page."""
    header = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    heads = [None if isinstance(cell, Markup) else cell for cell in head[1:]]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, data_head=h) for h, cell in zip(heads, row[1:], strict=True)),
        )
        for row in rows
    ]
    return tag("table", tag("caption", caption), tag("thead", header), tag("tbody", *body), class_=class_)


def facts(pairs: Iterable[tuple[object, object]], class_: str = "facts") -> Markup:
    """A list of terms and what holds for them; pairs without a value are left out."""
    return tag(
        "dl",
        *(tag("div", tag("dt", term), tag("dd", value)) for term, value in pairs if value is not None),
        class_=class_,
    )


def drawing(
    title: str,
    description: str,
    key: str,
    width: float,
    height: float,
    *children: object,
    style: str | None = None,
    class_: str | None = None,
) -> Markup:
    """An SVG, with what those who hear the page are told; with a `style` a file that stands alone. `key` makes its ids
    unique in a page."""
    about = [tag("title", title, id=f"{key}-title"), tag("desc", description, id=f"{key}-desc")]
    alone = {} if style is None else {"xmlns": "http://www.w3.org/2000/svg", "width": n(width), "height": n(height)}
    return tag(
        "svg", *about, None if style is None else tag("style", Markup(style)), *children, **alone,
        viewBox=f"0 0 {n(width)} {n(height)}", role="img", aria_labelledby=f"{key}-title {key}-desc", class_=class_,
    )  # fmt: skip


def n(value: float) -> str:
    """A coordinate of a drawing, with as few digits as the eye can see."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def section(anchor: str, title: object, *children: object) -> Markup:
    """A section with its heading."""
    return tag("section", tag("h2", title, id=anchor), *children, aria_labelledby=anchor)
