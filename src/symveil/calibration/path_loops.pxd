from symveil.calibration.costs.step_loops cimport Arcs
from symveil.numbers.compiled cimport (
    INFINITY, Bools, Floats, FloatTable, Ints, IntTable, NewFloatBox, NewFloats, NewFloatTable, NewInts, NewIntTable,
)

cpdef enum:
    MIDDLE = 0
    FROM_START = 1
    FINAL = 2
