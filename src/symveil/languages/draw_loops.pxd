from symveil.numbers.compiled cimport (
    BitTable, Codes, CodeTable, Floats, FloatTable, Ints, IntTable, NewBools, NewCodeTable, NewFloatBox, NewFloats,
    NewFloatTable, NewInts, NewIntTable,
)

cpdef enum:
    LANES = 16
