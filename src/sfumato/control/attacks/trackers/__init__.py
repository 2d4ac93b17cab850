"""Trackers: refused queries whose answer follows from answered ones. One file per tracker."""
