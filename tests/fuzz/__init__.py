"""Fuzzing of every parser: `parsers` says what is read, `mutations` how examples are spoilt, `runner` watches."""
