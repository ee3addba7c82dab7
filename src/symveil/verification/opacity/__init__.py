"""Opacity: what an observer of a system can be sure of, and how likely that is (Z25, mathematics §9).

`notions` says what is asked, `estimators` what the observer keeps in mind, `weak_search` and
`verify` find a shortest observation that gives a secret away, `violation` how probable such
observations are. Nothing here draws random bits or changes a system.
"""
