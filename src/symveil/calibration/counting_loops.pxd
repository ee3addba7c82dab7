from symveil.numbers.compiled cimport (
    INFINITY, AnyFloatTable, Codes, CodeTable, Floats, IntTables, Ints, NewAnyFloatTable, NewFloatTables, NewFloats, NewFloatTable, NewInts, exp,
)
