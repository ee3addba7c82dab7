from symveil.numbers.compiled cimport (
    INFINITY, AnyFloatTable, Codes, CodeTable, Floats, IntBox, Ints, NewAnyFloatTable, NewFloatBox, NewFloats, NewFloatTable, NewInts, exp,
)
