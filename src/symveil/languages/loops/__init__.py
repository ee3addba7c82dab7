"""A small compiler for loops: the Python of our loops becomes the text of LLVM's language, and that machine code.

Lives here: the translation of `@compiled` functions, the machine code of each, and where it is kept.
May not live here: any loop (each stands beside what it is for), nor what is peculiar to one of them.

    values       what a loop computes with: numbers, arrays, tuples
    emitter      lines of LLVM's language: numbers, branches, blocks of memory that are counted
    arrays       views, elements and new arrays
    sources      the syntax of a function, from its file
    translation  the Python of a function, statement by statement
    expressions  and what its expressions compute
    machine      machine code, and how Python calls it
    kept_code    machine code on disk

numba takes half a minute for the loops of one command, three quarters of it in its own type inference. The loops here
use little of Python: integers of 64 bits, floats, arrays of them. Whatever else one uses, numba compiles it as before
(`compiling`). The meaning is Python's, bit by bit, with integers that wrap around (tests/languages/loops).

Where it is not Python's, it is numba's: indices are not checked; an integer beside a float becomes a float first, also
in comparisons; x**2 is x * x; what no integer of 64 bits holds becomes the least one by int(). Entries of small
integers (int8, uint8, …) become integers of 64 bits with a sign before anything is done with them.
"""
