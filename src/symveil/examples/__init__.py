"""Example systems, each built in one place: the demo, the studio, the reproductions and the benchmarks share them.

Lives here: the systems of the papers, and a generated road network with its map and its trips.
May not live here: what is done with an example, and a number that a paper prints.
Stands beside verification and mechanisms: it builds models and words, and knows neither of them.
"""
