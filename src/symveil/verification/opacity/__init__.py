"""Opacity: what an observer of a system can be sure of, and how likely that is (Z25, docs/opacity.md).

Lives here: what the question is and what the observer keeps in mind (`estimators`, `exploration`), a shortest
observation that gives a secret away (`weak_search`, `verify`), how probable such observations are (`violation_chain`).
May not live here: anything that draws random bits or changes a system (enforcement).
"""
