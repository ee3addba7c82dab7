"""Files that say where symbols lie: coordinates, shapes, zones and road graphs.

Lives here: reading them, within bounds, and the model of a road graph.
May not live here: what is computed from positions (geography).
"""
