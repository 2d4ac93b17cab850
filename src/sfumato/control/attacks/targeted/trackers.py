"""Trackers, put to a database. Schloerer 1975; Denning, Denning and Schwartz, TODS 1979; Schloerer, TODS 1980."""

from __future__ import annotations

from itertools import combinations

from sfumato.control.attacks.targeted.questioner import Questioner, everybody, few


def individual_tracker(questioner: Questioner) -> float | None:
    """q(C) = q(A) - q(A and not B), for C = A and B: what is known of the person, in two parts."""
    known = questioner.conditions()
    for size in range(len(known) - 1, 0, -1):
        for part in combinations(range(len(known)), size):
            first = everybody()
            for i in part:
                first &= known[i]
            tracker = first & ~questioner.whom
            padding = questioner.total(tracker)
            padded = None if padding is None else questioner.total(tracker | questioner.wanted)
            if padding is not None and padded is not None:
                return padded - padding
    return None


def general_tracker(questioner: Questioner) -> float | None:
    """q(C) = q(C or T) + q(C or not T) - q(T) - q(not T), for a set T of middling size."""
    wanted = questioner.wanted
    for tracker in few(questioner.groups()):
        total = 0.0
        for sign, part in ((-1, tracker), (-1, ~tracker), (1, wanted | tracker), (1, wanted | ~tracker)):
            answer = questioner.total(part)
            if answer is None:
                break
            total += sign * answer
        else:
            return total
    return None


def double_tracker(questioner: Questioner) -> float | None:
    """q(C) = q(U) + q(C or T) - q(T) - q(not (C and T) and U), for T within U."""
    wanted = questioner.wanted
    for outer, inner in zip(few(questioner.groups()), few(questioner.groups()), strict=False):
        for around in (outer | inner, ~(outer & inner)):
            tracker = inner if around == outer | inner else ~outer & inner
            total = 0.0
            parts = ((1, around), (1, wanted | tracker), (-1, tracker), (-1, ~(wanted & tracker) & around))
            for sign, part in parts:
                answer = questioner.total(part)
                if answer is None:
                    break
                total += sign * answer
            else:
                return total
    return None


def union_tracker(questioner: Questioner) -> float | None:
    """q(C) = q(C or T) - q(T), for a set T that the person is not in."""
    for tracker in few(questioner.apart()):
        padding = questioner.total(tracker)
        padded = None if padding is None else questioner.total(tracker | questioner.wanted)
        if padding is not None and padded is not None:
            return padded - padding
    return None
