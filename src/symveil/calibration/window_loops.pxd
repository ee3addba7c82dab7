from symveil.calibration.costs.step_loops cimport Arcs, largest_fraction
from symveil.numbers.compiled cimport (
    INFINITY, Bools, CodeTable, Floats, FloatTable, FloatTables, Ints, IntTable, NewCodeTable, NewFloats,
    NewFloatTable, NewFloatTables, NewIntTable,
)
