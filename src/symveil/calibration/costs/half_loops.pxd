# What the names of half_loops.py are in C.
from symveil.calibration.costs.block_loops cimport Paths, Prices, comparable, limits, pair_cost
from symveil.calibration.costs.box_loops cimport Slots, hull
from symveil.calibration.costs.step_loops cimport EveryState, step_backward, step_forward
from symveil.numbers.compiled cimport (
    INFINITY, FloatTable, IntTable, Ints, NewBools, NewFloatTable, NewFloats, NewSingleTable, SingleTable,
)
