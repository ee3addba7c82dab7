from symveil.numbers.compiled cimport (
    BoolTable, CodeTable, Floats, FloatTable, Ints, IntTable, NewBits, NewBitTable, NewBoolTable, NewCodeTable, NewFloats,
    NewFloatTable, NewInts, NewSigns,
)
from symveil.verification.distances.sweep_loops cimport UNIT, merge, most_successors, solve
