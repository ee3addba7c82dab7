from symveil.calibration.costs.step_loops cimport Arcs, largest_fraction
from symveil.numbers.compiled cimport (
    INFINITY, Bools, CodeTable, Floats, FloatTable, FloatBox, Ints, IntTable, NewCodeTable, NewFloats,
    NewFloatTable, NewFloatBox, NewIntTable,
)
