from symveil.numbers.compiled cimport (
    BitTable, Codes, CodeTable, Floats, FloatTable, Ints, IntTable, NewBools, NewCodeTable, NewFloatTables, NewFloats,
    NewFloatTable, NewInts, NewIntTable,
)

cpdef enum:
    LANES = 16
