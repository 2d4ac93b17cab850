"""Every screen of the studio in both languages, both colour schemes, wide and narrow: readable, whole, reachable by
keyboard, and as its picture in the docs."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from PIL import Image
from tools.studio_pictures import (
    LANGUAGES,
    NARROW,
    PICTURES,
    SCHEMES,
    SCREENS,
    WIDE,
    WIDTHS,
    photograph,
    show,
    studio,
)

from sfumato.studio.texts import catalogue
from tests.fuzz import FUZZ
from tests.studio.running import browsing

pytestmark = pytest.mark.browser

ROWS = 4_000  # a fifth of those in the pictures: what is drawn looks the same, and is there sooner
BLOCK = 90  # pixels: wide enough that other fonts leave most of a block's ink in it
ALIKE = 0.35  # measured: other fonts and sizes of text differ by up to 0.29, broken layouts by 0.44 and more
VISITS = (("en", "light", WIDE), ("it", "dark", NARROW))
UNFILLED = re.compile(r"\{\w+\}|\b(?:None|NaN|nan|undefined)\b|\[object \w+\]")
ENGLISH = re.compile(r"\b(?:the|of|and|is|are|an|that|which|with|others|under|at least|rows)\b")
# Texts but for data, which stand in type of their own.
TEXTS = """() => [...document.querySelectorAll('.studio-main, header, nav')].flatMap(part => {
  const found = [], walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode, within = one.parentElement;
    if (!within.closest('.mono, .rows-grid, .heat, svg, i')) found.push(one.data.trim());
  }
  return found.filter(text => text);
})"""
# What has the focus: whether it shows, whether it had it before, and what it is.
FOCUS = """() => {
  const one = document.activeElement, style = getComputedStyle(one), again = !!one.dataset.reached;
  const ring = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none';
  const shown = ring || one.closest('body > *:not(.studio-main)') === null || one.tagName === 'IFRAME' ||
    !!one.closest('.q-field--focused, .drop, .import, .q-slider');
  if (one !== document.body) one.dataset.reached = 1;
  return [shown, again, one.outerHTML.slice(0, 200)];
}"""
# What was not reached; chips go by the backspace key.
LEFT = """() => [...document.querySelectorAll('.studio-main, header, nav')].flatMap(part => [...part.querySelectorAll(
  'a[href], button:not([disabled]), input:not([disabled]), textarea, select, [tabindex="0"]:not(.q-chip__icon)')])
  .filter(one => one.tabIndex >= 0 && !one.dataset.reached && one.checkVisibility({visibilityProperty: true}))
  .map(one => one.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def screens(chromium):
    """A studio with a project that has everything, and a page to look at it."""
    with studio(ROWS) as url, browsing(chromium, url) as watched:
        watched.page.set_default_timeout(60_000)  # the first run compiles
        yield url, watched


def ink(picture):
    """How much changes from pixel to pixel in each block of a picture: text and lines, not their colour."""
    grey = np.asarray(picture.convert("L"), dtype=float)
    grey = grey[: len(grey) // BLOCK * BLOCK]
    edges = np.abs(np.diff(grey, axis=0, prepend=grey[:1])) + np.abs(np.diff(grey, axis=1, prepend=grey[:, :1]))
    return edges.reshape(len(grey) // BLOCK, BLOCK, -1, BLOCK).mean(axis=(1, 3))


def difference(one, other):
    """From 0, the same ink everywhere, to 1, ink at other places only; what only the longer picture has counts, too."""
    a, b = ink(one), ink(other)
    rows = max(len(a), len(b))
    a, b = (np.pad(part, ((0, rows - len(part)), (0, 0))) for part in (a, b))
    return np.abs(a - b).sum() / (a + b).sum()


def fits(page):
    """Whether nothing is wider than the window, once charts took the width that it has."""
    from playwright.sync_api import TimeoutError

    try:
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth", timeout=3000)
    except TimeoutError:
        return False
    return True


def unreached(page):
    """Controls that Tab does not reach, or that do not show when they have the focus.

    Where some are found they are looked for once more: Quasar may give its tabs another order while they are walked.
    """
    if faults := walked(page):
        page.evaluate("document.querySelectorAll('[data-reached]').forEach(one => delete one.dataset.reached)")
        page.evaluate("document.activeElement.blur()")
        faults = walked(page)
    return faults


def walked(page):
    """What a walk by the Tab key through all of a page finds."""
    faults = []
    for _ in range(250):
        page.keyboard.press("Tab")
        shown, again, what = page.evaluate(FOCUS)
        if again and not what.startswith("<iframe"):  # which has links of its own
            break
        if not shown:
            faults.append(f"no focus to be seen: {what}")
    return faults + [f"not reached: {what}" for what in page.evaluate(LEFT)]


def untranslated(page):
    """English on an Italian page, and texts that were not filled in."""
    english, italian = catalogue("en"), catalogue("it")
    other = {text for name, text in english.items() if text != italian[name]} - set(italian.values())
    texts = [re.sub(r'["“][^"”]*["”]', "", one) for one in page.evaluate(TEXTS)]
    return [one for one in texts if one in other or ENGLISH.search(one) or UNFILLED.search(one)]


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(screens, name):
    url, watched = screens
    page = watched.page
    watched.faults.clear()
    for language, scheme, width in product(LANGUAGES, SCHEMES, WIDTHS) if FUZZ > 1 else VISITS:
        show(watched, url, name, language, scheme, width)
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate("document.body.classList.contains('body--dark')") == (scheme == "dark")
        assert watched.accessible(rest=0) == []
        assert fits(page)
        if language == "it":
            assert untranslated(page) == []
        if (language, scheme, width) == VISITS[0]:
            assert difference(photograph(page), Image.open(PICTURES / f"{name}.png")) < ALIKE
            assert unreached(page) == []
        page.set_viewport_size({"width": sum(WIDTHS) - width, "height": 900})
        page.wait_for_timeout(200)
        assert fits(page)
        assert watched.faults == []


def test_a_broken_layout_differs_from_the_picture_and_another_font_does_not(screens):
    url, watched = screens
    page, picture = watched.page, Image.open(PICTURES / "roles.png")

    def seen():
        page.wait_for_timeout(200)
        return difference(photograph(page), picture)

    show(watched, url, "roles", "en", "light", WIDE)
    font = page.add_style_tag(content="body { font-family: serif; font-size: 17px }")
    assert seen() < ALIKE
    font.evaluate("one => one.remove()")
    own = "[...document.querySelectorAll('style')].filter(one => one.innerText.includes('--paper'))"
    page.evaluate(f"{own}.forEach(one => one.remove())")
    assert seen() > ALIKE  # without our own stylesheet
    show(watched, url, "roles", "en", "light", WIDE)
    page.evaluate("document.querySelector('.studio-main').replaceChildren()")
    assert seen() > ALIKE  # nothing in the page


def test_the_steps_of_a_narrow_page_are_in_a_drawer(screens):
    url, watched = screens
    page = watched.page
    show(watched, url, "data", "it", "light", NARROW)
    step = page.get_by_role("link", name="Ruoli")
    assert not step.is_visible() or step.bounding_box()["x"] < 0
    page.get_by_role("button", name="Passi").press("Enter")
    page.wait_for_function("document.querySelector('.studio-steps').getBoundingClientRect().left >= 0")
    assert watched.accessible() == []
    assert fits(page)
    step.click()
    page.locator(".roles-grid").wait_for()
